"""Liu, Zhang & Wang (KDD 2011): relative constraints and ReCon."""
