"""Names of clusters from texts: class-based TF-IDF, for rows and texts of any form."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from mdh_dask import DensityTree, RandomProjectionTree, load_model

TOPICS = ("rain wind storm", "goal match team", "bank rate loan")
COMMON = "said new week"


@pytest.fixture(scope="module")
def labels():
    return np.repeat([0, 1, 2], 200)


@pytest.fixture(scope="module")
def rows(labels):
    return np.random.default_rng(0).normal(size=(600, 2)) + 9 * np.array([[0, 0], [1, 0], [0, 1]])[labels]


@pytest.fixture(scope="module")
def texts(labels):
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(f"{TOPICS[y]} {COMMON} the".split(), 9)) for y in labels]


@pytest.fixture(scope="module")
def model(rows):
    return RandomProjectionTree(n_projections=50).fit(rows)


def reference(texts, labels, cluster):
    """Class-based TF-IDF of the paper, word by word."""
    words = [[w for text, y in zip(texts, labels) if y == c for w in text.split() if w != "the"] for c in range(3)]
    every = [word for own in words for word in own]
    share = {word: words[cluster].count(word) / len(words[cluster]) for word in set(every)}
    return {word: share[word] * np.log1p(len(every) / 3 / every.count(word)) for word in share}


def test_words_are_those_of_the_largest_class_based_tf_idf(model, rows, texts):
    found = np.asarray(model.labels_)
    for cluster, name in enumerate(model.name_clusters(rows, texts, n_words=5)):
        weights = reference(texts, found, cluster)
        assert [weights[word] for word in name.words] == pytest.approx(sorted(weights.values())[:-6:-1])
        assert {*name.words[:3]} == {*TOPICS[int(np.repeat([0, 1, 2], 200)[found == cluster][0])].split()}


def test_the_exemplar_is_a_text_of_the_cluster_with_its_words(model, rows, texts):
    found = np.asarray(model.labels_)
    for cluster, name in enumerate(model.name_clusters(rows, texts)):
        assert name.exemplar in {text for text, y in zip(texts, found) if y == cluster}
        assert {*name.words[:3]} <= {*name.exemplar.split()}


FORMS = {
    "array": lambda rows, texts: (rows, np.array(texts, dtype=object)),
    "pandas": lambda rows, texts: (rows, pd.Series(texts)),
    "polars": lambda rows, texts: (rows, pl.Series(texts)),
    "column": lambda rows, texts: (pd.DataFrame({"x0": rows[:, 0], "x1": rows[:, 1], "text": texts}), "text"),
    "Dask": lambda rows, texts: (da.from_array(rows, (70, 2)), da.from_array(np.array(texts), 90)),
    "Dask frame": lambda rows, texts: (rows, dd.from_pandas(pd.Series(texts), npartitions=3)),
}


@pytest.mark.parametrize("form", FORMS)
def test_texts_and_rows_of_any_form_give_the_same_names(form, rows, texts, model):
    expected = model.name_clusters(rows, texts)
    X, own = FORMS[form](rows, texts)
    fitted = RandomProjectionTree(n_projections=50).fit(X.drop(columns=own)) if form == "column" else model
    assert fitted.name_clusters(X, own) == expected


@pytest.mark.parametrize("cls", [RandomProjectionTree, DensityTree])
def test_names_are_in_why_and_in_saved_models_until_the_clusters_change(cls, rows, texts, tmp_path):
    rows, texts = rows[::3], texts[::3]
    model = cls().fit(rows)
    names = model.name_clusters(rows, texts)
    model.save(tmp_path / "m.zarr")
    for own in (model, load_model(tmp_path / "m.zarr")):
        assert all(str(name) in own.why() for name in names)
    assert names[0].words[0] not in model.fit(rows).why()


def test_missing_texts_are_empty_and_own_vectorizers_count(model, rows, texts):
    some = [text if i % 2 else None for i, text in enumerate(texts)]
    pairs = model.name_clusters(rows, some, n_words=1, vectorizer=CountVectorizer(ngram_range=(2, 2)))
    assert all(len(name.words[0].split()) == 2 for name in pairs)


def test_what_is_no_text_for_each_row_is_an_error(model, rows, texts):
    with pytest.raises(ValueError, match=r"expected 600 texts, one for each row; got 599"):
        model.name_clusters(rows, texts[1:])
    for text in ("", "a b"):
        with pytest.raises(
            ValueError, match=r"expected words in the texts; got none .*: give other texts, or vectoriz"
        ):
            model.name_clusters(rows, [text] * 600)
    with pytest.raises(ValueError, match=r"a column of a frame|one of the columns of a frame for texts"):
        model.name_clusters(rows, "text")
    with pytest.raises(ValueError, match=r"expected a number of words from 0 for n_words; got -1"):
        model.name_clusters(rows, texts, n_words=-1)


def test_masked_texts_are_empty(model, rows, texts):
    hidden = np.asarray(model.labels_) == 0
    blank = np.where(hidden, "", texts)
    assert model.name_clusters(rows, np.ma.array(texts, mask=hidden)) == model.name_clusters(rows, blank)
