"""The data sets that `load` knows: one row each, and how a name is looked up.

Entry points: `ENTRIES` (name to row), `find` (a name as people type it to its row) and
`BAUMANN_HOCHBAUM` (25 of the names). To add a data set, put its file into the data folder and a row
into `_ROWS`.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import Literal

from linkwise.datasets._load import SKLEARN_SETS, SOURCE, reduced_name

Kind = Literal["table", "sklearn", "images", "texts", "words"]


@dataclass(frozen=True)
class Entry:
    """What is known about one data set.

    Attributes
    ----------
    name, title : str
        The name to load it by, and a few words on what it is.
    file : str
        File in the data folder, or its name in `linkwise.datasets`.
    source : str
        Where the data comes from.
    aliases : tuple of str
        Other names that are understood.
    note : str
        What a user should know about it.
    kind : str
        How the file is read: a table with the column ``class``, scikit-learn, arrays of images,
        raw texts, or texts turned into word weights.
    keep : tuple of str
        The classes to keep; all if empty.
    per_class : int
        Number of rows drawn at random from each class; all if 0.
    merge : tuple of (str, str)
        Classes renamed, and so joined.
    drop : tuple of str
        Columns that are no features.
    ids : tuple of (str, str)
        File and column that name the rows.
    """

    name: str
    file: str
    title: str
    source: str
    aliases: tuple[str, ...] = ()
    note: str = ""
    kind: Kind = "table"
    keep: tuple[str, ...] = ()
    per_class: int = 0
    merge: tuple[tuple[str, str], ...] = ()
    drop: tuple[str, ...] = ()
    ids: tuple[str, str] | None = None


_UCI = "UCI Machine Learning Repository"
_KEEL = "KEEL repository"
_STATLOG = "Statlog project, in the UCI Machine Learning Repository"
_DILS = "toy data of G. Gonzalez-Almagro's DILS_CC (GitHub, ggalmagro/DILS_CC)"
_MASS = "data frame `crabs` of the R package MASS"
_NEWS = "20 Newsgroups, 'bydate' version, joined from two copies on GitHub"


def _csv(
    name: str, title: str, source: str, *aliases: str, file: str = "", note: str = ""
) -> Entry:
    return Entry(name, file or f"{name}.csv", title, source, aliases, note)


def _gz(name: str, title: str, source: str, *aliases: str, note: str = "") -> Entry:
    return Entry(name, f"{name}.csv.gz", title, source, aliases, note)


_PENDIGITS = _gz(
    "pendigits",
    "Pen strokes of handwritten digits, eight points each",
    _UCI,
    "penbased",
    note="The first 7,494 rows are UCI's training file.",
)
_LETTER = _gz("letter", "Features of printed capital letters", _UCI, "letter_recognition")
_USPS = _gz(
    "usps",
    "Scanned digits of US postcodes, 16 x 16 grey values from -1 to 1",
    "USPS zip codes (Hull, LeCun), MAT-file in danyaljj/constrained_clustering on GitHub",
    note="The first 7,291 rows are the training part.",
)
_VERTEBRAL = _csv(
    "vertebral_column",
    "Shape of the pelvis and lumbar spine of patients",
    _UCI,
    "vertebral_column_3c",
    "vertebral",
    file="vertebral_column_3c.csv",
)
_NEWSGROUPS = Entry(
    "newsgroups20",
    "newsgroups20_bydate.parquet",
    "Usenet messages of 20 newsgroups as raw text, headers included",
    _NEWS,
    ("20_newsgroups", "newsgroups", "20news"),
    "The first 11,314 rows are the training part.",
    kind="texts",
)


def _news(name: str, title: str, *groups: str) -> Entry:
    return replace(
        _NEWSGROUPS,
        name=name,
        title=title,
        aliases=(name.removesuffix("_3"),),
        note=(
            "The words of 100 messages a group, drawn anew for each `random_state`: stop words, "
            "words in fewer than 3 messages and words in more than half of them are left out."
        ),
        kind="words",
        keep=groups,
        per_class=100,
    )


_ROWS: tuple[Entry, ...] = (
    # In scikit-learn
    *(
        Entry(known.name, known.name, known.title, SOURCE, known.aliases, known.note, "sklearn")
        for known in SKLEARN_SETS
    ),
    # In the five papers
    _csv("crabs_gender", "Leptograpsus crabs, male and female", _MASS, "crabs_sex"),
    _csv("crabs_sp_sex", "Leptograpsus crabs, species and sex", _MASS, "crabs_species_sex"),
    _PENDIGITS,
    replace(
        _PENDIGITS,
        name="digits389",
        title="Pen strokes of the digits 3, 8 and 9",
        aliases=("pendigits389",),
        note="Part of pendigits. The papers use 10 % of it: sample=0.1 gives 317 rows.",
        keep=("3", "8", "9"),
    ),
    replace(
        _PENDIGITS,
        name="pendigits3689",
        title="Pen strokes of the digits 3, 6, 8 and 9",
        aliases=("digits3689",),
        note="Part of pendigits. Liu, Jin and Jain (2007) give 4,396 rows; the data has 4,221.",
        keep=("3", "6", "8", "9"),
    ),
    _LETTER,
    replace(
        _LETTER,
        name="letters_ijl",
        title="Printed capital letters I, J and L",
        aliases=("letter_ijl",),
        note="Part of letter. The papers use 10 % of it: sample=0.1 gives 227 rows.",
        keep=("I", "J", "L"),
    ),
    replace(
        _LETTER,
        name="letters_ijlt",
        title="Printed capital letters I, J, L and T",
        aliases=("letter_ijlt",),
        note="Part of letter.",
        keep=("I", "J", "L", "T"),
    ),
    _csv(
        "protein",
        "Amino-acid composition of proteins, in per cent",
        "proteinData.mat of Xing et al. (2003), in a copy on GitHub",
        note="Columns have no names of their own; 8 rows are repeats.",
    ),
    _csv(
        "ionosphere",
        "Radar returns from the ionosphere",
        _UCI,
        note="Column a02 is always 0; KEEL's copy leaves it out and rounds.",
    ),
    _csv(
        "transfusion",
        "Blood donors of a transfusion service",
        _UCI,
        "blood",
        "blood_transfusion",
        note="The column monetary is 250 times frequency.",
    ),
    _csv("balance_scale", "Weights and arms of a balance scale", _UCI, "scale", "balance"),
    _csv(
        "vowel",
        "Vowels of British English, spoken by several people",
        _UCI,
        "vowel_context",
        note="Class names differ in case only: hid and hId.",
    ),
    _gz(
        "segment",
        "Patches of outdoor images",
        _STATLOG,
        "segmentation",
        "image_segmentation",
        note="The column region-pixel-count is always 9.",
    ),
    _USPS,
    replace(
        _USPS,
        name="digits4000",
        title="Scanned digits of US postcodes, 400 of each",
        aliases=("handwrittendigit", "handwritten_digits", "usps4000"),
        note=(
            "Drawn anew from usps for each `random_state`. It stands in for the 4,000 handwritten "
            "digits of Liu, Jin and Jain (2007), whose selection is not known."
        ),
        per_class=400,
    ),
    _gz("semeion", "Handwritten digits, 16 x 16 binary pixels", _UCI),
    _gz(
        "mfeat_pix",
        "Handwritten digits of Dutch utility maps, 15 x 16 pixel averages",
        _UCI,
        "mfeat",
        "mfeat_pixel",
        "multiple_features_pixels",
    ),
    _NEWSGROUPS,
    _news(
        "news_different_3",
        "Messages of three newsgroups on different topics",
        "alt.atheism",
        "rec.sport.baseball",
        "sci.space",
    ),
    _news(
        "news_related_3",
        "Messages of three newsgroups on related topics",
        "talk.politics.misc",
        "talk.politics.guns",
        "talk.politics.mideast",
    ),
    _news(
        "news_similar_3",
        "Messages of three newsgroups on similar topics",
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.windows.x",
    ),
    _csv(
        "slides_2d",
        "Two normal clouds, of which a quadrant is a third class",
        "data.txt of Teja's customKmeans (GitHub, krishnatejak2/customKmeans)",
        "slides",
        note="Class 2 is where x > 0 and y < 0.",
    ),
    # Others often used
    _csv("appendicitis", "Patients with and without appendicitis", _KEEL),
    _csv("banknote", "Genuine and forged banknotes", _UCI, "banknote_authentication"),
    _csv(
        "breast_wisconsin_original",
        "Breast cancer Wisconsin (original): cell samples",
        _UCI,
        "breast_w",
        "wisconsin",
        note="16 values of bare_nuclei are missing.",
    ),
    _csv("bupa", "Blood tests and drinking habits (liver disorders)", _UCI, "liver", "bupa_liver"),
    _csv("dermatology", "Skin diseases", _UCI, note="8 ages are missing."),
    _csv("ecoli", "Where proteins of E. coli are found in the cell", _UCI),
    _csv("glass", "Oxides in kinds of glass", _UCI, "glass_identification"),
    _csv("haberman", "Survival after breast cancer surgery", _UCI),
    _csv("hayes_roth", "Made-up people of a psychological experiment", _KEEL),
    _csv(
        "heart",
        "Heart disease (Statlog)",
        _STATLOG,
        "heart_statlog",
        file="heart_statlog.csv",
        note="In KEEL's copy the column oldpeak has lost its decimal points.",
    ),
    _csv("hepatitis", "Survival of hepatitis patients", _UCI, note="167 values are missing."),
    _csv(
        "house_votes",
        "Votes of US congressmen in 1984",
        _UCI,
        "house_votes_84",
        "votes",
        note="392 votes are missing.",
    ),
    _csv("led7digit", "Noisy seven-segment digits", _KEEL, "led7"),
    _gz("magic04", "Gamma rays and hadrons in a Cherenkov telescope", _UCI, "magic", "magic_gamma"),
    Entry(
        "mnist",
        "mnist.npz",
        "Handwritten digits, 28 x 28 grey values from 0 to 255",
        "MNIST (LeCun, Cortes, Burges), from the images of rasbt/mnist-pngs on GitHub",
        note="The first 60,000 rows are the training part. The data is float32, to save memory.",
        kind="images",
    ),
    _csv(
        "monk2",
        "The MONK's problem that KEEL calls monk-2",
        _KEEL,
        "monk2_keel",
        file="monk-2_keel.csv",
        note="It is the test set of UCI's monks-3, not of monks-2.",
    ),
    _csv(
        "monks2_uci",
        "The second MONK's problem: exactly two attributes are 1",
        _UCI,
        "monks2",
        file="monks-2_uci.csv",
    ),
    _csv(
        "movement_libras",
        "Hand movements of the Brazilian sign language",
        _KEEL,
        "libras",
        note="30 rows are repeats.",
    ),
    _gz(
        "mushroom",
        "Edible and poisonous mushrooms",
        _UCI,
        "mushrooms",
        note="2,480 values of stalk-root are missing; KEEL's copy leaves those rows out.",
    ),
    _csv("newthyroid", "Laboratory tests of the thyroid", _UCI, "thyroid"),
    _gz("optdigits", "Handwritten digits, 8 x 8 pixels", _UCI, "optical_digits"),
    _csv("parkinsons", "Voices of people with and without Parkinson's disease", _UCI, "parkinson"),
    _csv(
        "pima",
        "Diabetes among Pima women",
        _UCI,
        "pima_diabetes",
        "pima_indians_diabetes",
        note="Zeros stand for missing values.",
    ),
    _csv(
        "saheart",
        "Heart disease in South Africa",
        "The Elements of Statistical Learning; KEEL repository",
    ),
    _gz("satimage", "Pixels of satellite images", _STATLOG, "landsat"),
    _csv("seeds", "Kernels of three kinds of wheat", _UCI),
    _csv("sonar", "Sonar echoes of mines and rocks", _UCI),
    _csv(
        "soybean",
        "Soybean diseases, small version",
        _UCI,
        "soybean_small",
        file="soybean_small.csv",
        note="Categories are coded as whole numbers; 14 columns are constant.",
    ),
    _gz("spambase", "Word shares of spam and other mail", _UCI),
    _csv(
        "spectfheart",
        "Cardiac images (SPECTF)",
        _UCI,
        "spectf",
        note="Repeats of UCI's first test file are taken out.",
    ),
    _csv("tae", "Ratings of teaching assistants", _UCI, "teaching_assistant_evaluation"),
    _gz("texture", "Patches of Brodatz textures", "ELENA project, KEEL repository"),
    _csv("tic_tac_toe", "End positions of noughts and crosses", _UCI),
    _csv("vehicle", "Silhouettes of vehicles", _STATLOG),
    _VERTEBRAL,
    replace(
        _VERTEBRAL,
        name="vertebral_column_2c",
        aliases=("vertebral_2c",),
        note="The two disorders of vertebral_column as one class.",
        merge=(("Hernia", "Abnormal"), ("Spondylolisthesis", "Abnormal")),
    ),
    _csv("yeast", "Where proteins of yeast are found in the cell", _UCI),
    replace(
        _csv("zoo", "Animals of a zoo, mostly yes or no", _UCI),
        note="`ids` are the animals' names; the second frog is called frog_2.",
        ids=("zoo_wordnet_taxonomy.csv", "animal"),
    ),
    _csv("circles", "Two rings in the plane", _DILS, "toy_circles", file="toy_circles.csv"),
    _csv("moons", "Two half moons in the plane", _DILS, "toy_moons", file="toy_moons.csv"),
    _csv("spiral", "Two spirals in the plane", _DILS, "toy_spiral", file="toy_spiral.csv"),
    Entry(
        "carnivora",
        "carnivora_taxonomy.csv",
        "Body and life of carnivores; classes are families",
        "data frame `carnivora` of the R package ape (Gittleman)",
        note="381 traits are missing; FW, SW, FB and SB are complete. `ids` are the species.",
        drop=("superfamily", "genus", "species"),
        ids=("carnivora_taxonomy.csv", "species"),
    ),
)

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _ROWS}

#: The 25 data sets on which Baumann and Hochbaum (2024, "PCCC", their collection COL1) and before
#: them Gonzalez-Almagro et al. compare algorithms for constrained clustering, in their order. Their
#: breast cancer is scikit-learn's (`wdbc`); most others they took from KEEL. Two differ from KEEL's
#: copies here: ionosphere (its constant column is kept) and heart (its decimal points are kept).
BAUMANN_HOCHBAUM: tuple[str, ...] = (
    "appendicitis",
    "breast_cancer",
    "bupa",
    "circles",
    "ecoli",
    "glass",
    "haberman",
    "hayes_roth",
    "heart",
    "ionosphere",
    "iris",
    "led7digit",
    "monk2",
    "moons",
    "movement_libras",
    "newthyroid",
    "saheart",
    "sonar",
    "soybean",
    "spectfheart",
    "spiral",
    "tae",
    "vehicle",
    "wine",
    "zoo",
)

# Data without features or classes, which people will still ask `load` for.
_ELSEWHERE = {
    "carnivora70": "load_tree('carnivora70')",
    "fish49": "load_tree('fish49')",
    "cars60": "load_cars60()",
    "60cars": "load_cars60()",
}


_BY_KEY: dict[str, Entry] = {
    reduced_name(name): entry for entry in _ROWS for name in (entry.name, *entry.aliases)
}


def find(name: str) -> Entry:
    """Look up a data set by a name as people type it.

    Parameters
    ----------
    name : str
        Case, blanks, dashes and underscores do not matter.

    Returns
    -------
    entry : Entry
    """
    key = reduced_name(str(name))
    if key in _BY_KEY:
        return _BY_KEY[key]
    if key in _ELSEWHERE:
        raise ValueError(f"{name!r} has no classes to load; use {_ELSEWHERE[key]} instead")
    close = difflib.get_close_matches(key, _BY_KEY, n=8, cutoff=0.6)
    close += [other for other in _BY_KEY if key and (key in other or other in key)]
    similar = ", ".join(dict.fromkeys(_BY_KEY[other].name for other in close))
    hint = f"similar names: {similar}. " if similar else ""
    raise ValueError(f"no data set is called {name!r}; {hint}All names: papers.datasets.names()")
