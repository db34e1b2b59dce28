import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline

from linkwise import Constraints, PCKMeans, TextEmbedder

TEXTS = ["refund my invoice", "the invoice is wrong", "app crashes", "the app freezes", ""]


def letters(texts):
    return [[text.count(letter) for letter in "aeiou"] for text in texts]


class Counting:
    def __init__(self):
        self.seen = []

    def __call__(self, texts):
        self.seen += texts
        return letters(texts)


def test_any_function_embeds():
    rows = TextEmbedder(letters).fit_transform(TEXTS)
    assert rows.shape == (5, 5)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows[:4], axis=1), 1.0, rtol=1e-6)
    assert not rows[4].any()


def test_equal_texts_are_embedded_once():
    model = Counting()
    rows = TextEmbedder(model, normalize=False).fit(["a"]).transform(["a", "b", "a"])
    assert model.seen == ["a", "a", "b"]
    assert (rows[0] == rows[2]).all()


@pytest.mark.parametrize(
    ("model", "texts", "error"),
    [
        ("gpt", TEXTS, "expected 'wordllama'"),
        (3, TEXTS, "expected a name or a function"),
        (letters, "one text", "not one text"),
        (letters, [1, 2], "expected texts, found 1"),
        (letters, [], "at least one"),
        (letters, [["a", "b"]], "shape"),
        (lambda texts: [[1.0]], ["a", "b"], None),
        (lambda texts: [[np.nan]] * len(texts), ["a"], "NaN"),
    ],
)
def test_what_is_refused(model, texts, error):
    with pytest.raises((TypeError, ValueError), match=error):
        TextEmbedder(model).fit(texts).transform(texts)


def test_in_pipelines_and_column_transformers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": TEXTS[:4], "x": [0.0, 1.0, 2.0, 3.0]})
    both = ColumnTransformer(
        [("text", TextEmbedder(letters), "text"), ("rest", "passthrough", ["x"])]
    )
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    pipe = make_pipeline(both, PCKMeans(2, random_state=0))
    pipe.fit(frame, pckmeans__constraints=known)
    assert pipe[-1].labels_[0] == pipe[-1].labels_[1] != pipe[-1].labels_[2]
    assert both.fit(frame).get_feature_names_out()[0] == "text__textembedder0"
    out = clone(both).set_output(transform="pandas").fit_transform(frame)
    assert out.shape == (4, 6)


def test_wordllama_knows_meanings():
    pytest.importorskip("wordllama")
    rows = TextEmbedder().fit_transform(
        ["cancel my subscription", "end the contract", "the camera is broken"]
    )
    assert rows.shape == (3, 256)
    near = rows @ rows.T
    assert near[0, 1] > near[0, 2]
