"""The estimators, with the interface of scikit-learn; `registry` lists them."""

from .drift import drift as drift
from .models import load_model as load_model
from .profiles import cluster_profiles as cluster_profiles
from .registry import *
