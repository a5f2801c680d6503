"""The scikit-learn face of the package; `registry` lists the estimators."""

from .drift import drift as drift
from .models import load_model as load_model
from .profiles import cluster_profiles as cluster_profiles
from .registry import *
