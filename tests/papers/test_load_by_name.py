import re

import numpy as np
import pytest
import scipy.sparse
from sklearn.preprocessing import normalize

from linkwise.datasets import make_slides
from linkwise.datasets._generate import SLIDES_COVARIANCES, SLIDES_MEANS
from linkwise.datasets._load import reduced_name
from papers.datasets import BAUMANN_HOCHBAUM, load, names
from papers.datasets._catalog import _ROWS, ENTRIES, find
from papers.datasets._load import _sample_size

# n, d, k of what the README's tables do not list: scikit-learn's sets, and parts of files.
SIZES = {
    "iris": (150, 4, 3),
    "wine": (178, 13, 3),
    "wdbc": (569, 30, 2),
    "digits": (1797, 64, 10),
    "digits389": (3165, 16, 3),
    "pendigits3689": (4221, 16, 4),
    "letters_ijl": (2263, 16, 3),
    "letters_ijlt": (3059, 16, 4),
    "digits4000": (4000, 256, 10),
    "slides_2d": (1000, 2, 3),
    "carnivora": (112, 12, 8),
    "vertebral_column_2c": (310, 6, 2),
}
NEWS = ("news_different_3", "news_related_3", "news_similar_3")


@pytest.fixture(scope="module")
def published(data_folder):
    """File to n, d, k, out of the tables of the README beside the data."""
    sizes = {}
    for line in (data_folder / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[2].isdigit():
            for file in cells[1].split(", "):
                width = int(cells[3]) if cells[3].isdigit() else None
                sizes[file] = (int(cells[2]), width, int(cells[4]))
    return sizes


# ---------------------------------------------------------------- every data set


@pytest.mark.parametrize("name", names())
def test_sizes(name, loaded, published):
    bunch = loaded(name)
    if name in NEWS:
        n, d, k = 300, bunch.data.shape[1], 3
        assert 1800 <= d <= 3400
    else:
        n, d, k = SIZES.get(name) or published[ENTRIES[name].file]
    assert bunch.data.shape[0] == n
    assert bunch.target.shape == (n,)
    if d is not None:
        assert bunch.data.shape[1] == len(bunch.feature_names)
        columns = {re.sub("=.*", "", feature) for feature in bunch.feature_names}
        assert len(columns) == d
    assert len(bunch.target_names) == k
    assert np.array_equal(np.unique(bunch.target), np.arange(k))
    assert bunch.name == name
    assert f"{n:,} rows" in bunch.DESCR
    assert "Source: " in bunch.DESCR
    if "ids" in bunch:
        assert len(set(bunch.ids)) == n


def test_every_file_of_the_readme_can_be_loaded(published):
    files = {file for file in published if "/" not in file}
    assert files <= {entry.file for entry in ENTRIES.values()}


def test_class_counts(loaded):
    def counts(name):
        bunch = loaded(name)
        return dict(zip(bunch.target_names.tolist(), np.bincount(bunch.target), strict=True))

    assert counts("crabs_gender") == {"F": 100, "M": 100}
    assert counts("balance_scale") == {"B": 49, "L": 288, "R": 288}
    assert counts("digits389") == {"3": 1055, "8": 1055, "9": 1055}
    assert counts("letters_ijlt") == {"I": 755, "J": 747, "L": 761, "T": 796}
    assert counts("slides_2d") == {"0": 323, "1": 500, "2": 177}
    assert counts("monk2") == {"0": 204, "1": 228}
    assert counts("monks2_uci") == {"0": 290, "1": 142}
    assert counts("vertebral_column_2c") == {"Abnormal": 210, "Normal": 100}
    assert set(counts("digits4000").values()) == {400}
    groups = counts("newsgroups20")
    assert groups["comp.graphics"] == 973
    assert groups["talk.politics.mideast"] == 940
    for name in NEWS:
        assert set(counts(name).values()) == {100}


def test_classes_that_are_numbers_are_in_their_order(loaded):
    assert loaded("texture").target_names.tolist()[:4] == ["2", "3", "4", "6"]
    assert loaded("movement_libras").target_names.tolist() == [str(n) for n in range(1, 16)]


def test_rows_are_in_file_order_and_codes_fit(loaded):
    zoo = loaded("zoo")
    assert zoo.ids[:3].tolist() == ["aardvark", "antelope", "bass"]
    assert zoo.target_names[zoo.target[:3]].tolist() == ["mammal", "mammal", "fish"]
    assert zoo.ids[[25, 26]].tolist() == ["frog", "frog_2"]


def test_missing_values_stay(loaded):
    assert np.isnan(loaded("breast_wisconsin_original").data).sum() == 16
    assert np.isnan(loaded("hepatitis").data).sum() == 167
    carnivora = loaded("carnivora")
    assert np.isnan(carnivora.data).sum() == 381
    assert carnivora.ids[0] == "Canis lupus"


def test_categories_become_columns_of_zeros_and_ones(loaded):
    votes = loaded("house_votes")
    assert votes.feature_names[:2] == ["handicapped-infants=n", "handicapped-infants=y"]
    assert set(np.unique(votes.data)) == {0, 1}
    # A vote that is missing is neither yes nor no.
    assert (votes.data[:, ::2] + votes.data[:, 1::2] == 0).sum() == 392


def test_mnist_is_in_single_precision(loaded):
    mnist = loaded("mnist")
    assert mnist.data.dtype == np.float32
    assert mnist.data[:60_000].mean() / 255 == pytest.approx(0.1307, abs=1e-4)
    assert mnist.target[:5].tolist() == [5, 0, 4, 1, 9]


def test_raw_texts(loaded):
    news = loaded("newsgroups20")
    assert isinstance(news.data[0], str)
    assert "Subject:" in news.data[0]
    assert news.feature_names == []
    assert news.ids[0].startswith(news.target_names[news.target[0]] + "/")


# ---------------------------------------------------------------- newsgroups


@pytest.mark.parametrize("name", NEWS)
def test_news_are_sparse_rows_of_length_one(name, loaded):
    news = loaded(name)
    assert scipy.sparse.issparse(news.data)
    assert news.data.format == "csr"
    lengths = np.sqrt(news.data.multiply(news.data).sum(axis=1))
    assert np.allclose(lengths, 1)
    assert not {"the", "and", "subject"} & set(news.feature_names)


def test_news_counts_are_of_the_same_words(loaded):
    weights, counts = loaded(NEWS[0]), load(NEWS[0], weighting="counts")
    assert counts.feature_names == weights.feature_names
    assert counts.ids.tolist() == weights.ids.tolist()
    assert (counts.data.data % 1 == 0).all()
    in_messages = np.bincount(counts.data.indices)
    assert in_messages.min() >= 3
    assert in_messages.max() <= 150
    idf = np.log(301 / (in_messages + 1)) + 1
    assert np.allclose((normalize(counts.data.multiply(idf)) - weights.data).data, 0)


def test_news_are_drawn_by_seed(loaded):
    other = load(NEWS[0], random_state=1)
    assert other.ids.tolist() != loaded(NEWS[0]).ids.tolist()
    assert other.data.shape[0] == 300


def test_weighting_is_for_news_only():
    with pytest.raises(ValueError, match=r"weighting='counts' is for the news sets.*not for iris"):
        load("iris", weighting="counts")
    with pytest.raises(ValueError, match="weighting='bm25' should be one of tfidf, counts"):
        load("iris", weighting="bm25")


# ---------------------------------------------------------------- samples


def test_sample_sizes_of_the_papers(data_folder):
    assert load("digits389", sample=0.1).data.shape == (317, 16)
    assert load("letters_ijl", sample=0.1).data.shape == (227, 16)


def test_samples_take_ids_along(loaded):
    zoo, part = loaded("zoo"), load("zoo", sample=0.5)
    place = {name: row for row, name in enumerate(zoo.ids)}
    rows = [place[name] for name in part.ids]
    assert np.array_equal(part.data, zoo.data[rows])
    assert part.target_names.tolist() == zoo.target_names.tolist()


def test_drawn_sets_are_seeded(loaded):
    again, other = load("digits4000"), load("digits4000", random_state=1)
    assert np.array_equal(loaded("digits4000").data, again.data)
    assert not np.array_equal(other.data, again.data)


# ---------------------------------------------------------------- names


def test_names_are_sorted_and_plain():
    assert names() == sorted(set(names()))
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in names())


def test_no_two_data_sets_share_a_name():
    keys = [reduced_name(name) for entry in _ROWS for name in {entry.name, *entry.aliases}]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("Digits-389", "digits389"),
        ("LettersIJL", "letters_ijl"),
        ("Letters IJLT", "letters_ijlt"),
        ("scale", "balance_scale"),
        ("segmentation", "segment"),
        ("Crabs-Gender", "crabs_gender"),
        ("News-Different-3", "news_different_3"),
        ("handwrittendigit", "digits4000"),
        ("Breast Cancer", "wdbc"),
        ("Hayes-Roth", "hayes_roth"),
        ("monk-2", "monk2"),
        ("toy circles", "circles"),
    ],
)
def test_names_as_people_type_them(typed, name):
    assert find(typed).name == name


def test_an_alias_loads_the_same(loaded):
    assert loaded("Hayes-Roth").name == "hayes_roth"
    assert np.array_equal(loaded("Hayes-Roth").data, loaded("hayes_roth").data)


@pytest.mark.parametrize(
    ("typed", "similar"),
    [("irsi", "iris"), ("pendigit", "pendigits3689"), ("newsgroup", "newsgroups20")],
)
def test_unknown_name_lists_similar_ones(typed, similar):
    with pytest.raises(ValueError, match=f"no data set is called '{typed}'.*{similar}"):
        load(typed)


def test_unknown_name_like_no_other():
    with pytest.raises(ValueError, match=r"called '\?\?'; All names: papers\.datasets\.names"):
        load("??")


@pytest.mark.parametrize(
    ("typed", "call"), [("fish49", "load_tree('fish49')"), ("60 Cars", "load_cars60()")]
)
def test_data_that_is_loaded_otherwise(typed, call):
    with pytest.raises(ValueError, match=re.escape(f"use {call} instead")):
        load(typed)


def test_the_benchmark_of_baumann_and_hochbaum(loaded):
    assert len(set(BAUMANN_HOCHBAUM)) == 25
    for name in BAUMANN_HOCHBAUM:
        assert np.isfinite(loaded(name).data).all()
    assert loaded("breast_cancer").data.shape == (569, 30)


# ---------------------------------------------------------------- folders


def test_missing_file(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWISE_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError) as caught:
        load("pendigits")
    for part in ("pendigits.csv.gz", str(tmp_path), "LINKWISE_DATA", "UCI Machine Learning"):
        assert part in str(caught.value)


@pytest.mark.parametrize("named", [None, ""])
def test_cache_folder(named, tmp_path, monkeypatch):
    if named is None:
        monkeypatch.delenv("LINKWISE_DATA", raising=False)
    else:
        monkeypatch.setenv("LINKWISE_DATA", named)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / "linkwise"))):
        load("seeds")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path / ".cache" / "linkwise"))):
        load("seeds")


def test_file_in_the_cache_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.delenv("LINKWISE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "linkwise").mkdir()
    (tmp_path / "linkwise" / "seeds.csv").write_text("area,class\n1.5,2\n2.5,10\n")
    assert load("seeds").target_names.tolist() == ["2", "10"]


def test_slides_constants_come_from_the_file(data_folder):
    X = load("slides_2d").data.reshape(2, 500, 2)
    assert np.allclose(X.mean(axis=1), SLIDES_MEANS, atol=1e-4)
    assert np.allclose([np.cov(cloud.T) for cloud in X], SLIDES_COVARIANCES, atol=1e-4)


def test_slides_are_like_the_file(data_folder):
    X, y = make_slides(random_state=0)
    theirs = load("slides_2d")
    assert X.shape == theirs.data.shape
    assert np.allclose(np.bincount(y), np.bincount(theirs.target), atol=50)
    assert np.array_equal(y == 2, (X[:, 0] > 0) & (X[:, 1] < 0))


@pytest.mark.parametrize(
    ("n_rows", "sample", "size"),
    [(3165, 0.1, 317), (2263, 0.1, 227), (100, 0.07, 7), (150, 1.0, 150), (150, 1, 1), (5, 1e-9, 1)]
    + [(100, share / 100, share) for share in range(1, 101)],
)
def test_shares_are_rounded_up(n_rows, sample, size):
    assert _sample_size(n_rows, sample) == size


def test_samples_are_seeded_distinct_and_in_order():
    whole = load("digits")
    X, y = load("digits", sample=200, random_state=3, return_X_y=True)
    again, _ = load("digits", sample=200, random_state=3, return_X_y=True)
    other, _ = load("digits", sample=200, random_state=4, return_X_y=True)
    assert np.array_equal(X, again)
    assert not np.array_equal(X, other)
    # Rows of digits are distinct, so each sampled row can be traced.
    row = {data.tobytes(): place for place, data in enumerate(whole.data)}
    places = [row[data.tobytes()] for data in X]
    assert places == sorted(set(places))
    assert np.array_equal(y, whole.target[places])


def test_a_random_state_that_moves_on():
    random = np.random.RandomState(0)
    first, second = (load("iris", sample=0.3, random_state=random).data for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("sample", [0, -1, 151, 0.0, -0.1, 1.5, True, "half", float("nan")])
def test_samples_that_are_none(sample):
    with pytest.raises(ValueError, match=f"sample={sample!r}"):
        load("iris", sample=sample)
