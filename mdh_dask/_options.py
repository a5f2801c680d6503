"""Methods and the names of their options, for checks before the estimators are imported, which takes seconds.

They are those of `mdh_dask.estimators.registry`: a test compares them.
"""

OPTIONS = {
    name: tuple(options.split())
    for name, options in {
        "rp": (
            "projection n_projections criterion threshold_rule bandwidth stop_rule quantile n_candidates "
            "min_cluster_size order max_clusters n_clusters max_levels min_relative_depth alpha sample_size "
            "refine merge scale feature_map cache decay missing random_state criterion_first fixed_directions"
        ),
        "pca": (
            "n_projections criterion threshold_rule bandwidth stop_rule quantile n_candidates min_cluster_size "
            "max_clusters n_clusters max_levels min_relative_depth alpha sample_size refine merge scale "
            "feature_map cache decay missing random_state"
        ),
        "ica": (
            "n_projections criterion threshold_rule bandwidth stop_rule quantile n_candidates min_cluster_size "
            "max_clusters n_clusters max_levels min_relative_depth alpha sample_size refine merge scale "
            "feature_map cache decay missing random_state n_unmixed"
        ),
        "pddp": (
            "bandwidth min_cluster_size max_clusters n_clusters max_levels sample_size merge scale feature_map "
            "cache decay missing random_state"
        ),
        "ipddp": (
            "bandwidth stop_rule quantile min_cluster_size max_clusters n_clusters max_levels alpha sample_size "
            "merge scale feature_map cache decay missing random_state"
        ),
        "depddp": (
            "bandwidth min_cluster_size max_clusters n_clusters max_levels min_relative_depth alpha sample_size "
            "merge scale feature_map cache decay missing random_state"
        ),
        "mdh": (
            "threshold_rule bandwidth stop_rule quantile n_candidates min_cluster_size max_clusters n_clusters "
            "max_levels min_relative_depth alpha sample_size refine merge scale feature_map cache decay missing "
            "random_state starts alpha_max max_components subspace"
        ),
        "hppc": (
            "n_projections criterion threshold_rule bandwidth stop_rule quantile n_candidates min_cluster_size "
            "order max_clusters n_clusters max_levels min_relative_depth alpha sample_size refine merge scale "
            "feature_map cache decay missing random_state search population crossover mutation step n_bins whiten"
        ),
        "hyperplane": (
            "bandwidth sample_size refine scale feature_map cache decay missing random_state starts alpha_max "
            "max_components solver"
        ),
        "kernel-mdh": (
            "threshold_rule bandwidth stop_rule quantile n_candidates min_cluster_size max_clusters n_clusters "
            "max_levels min_relative_depth alpha sample_size refine merge scale feature_map cache decay missing "
            "random_state starts alpha_max max_components subspace"
        ),
        "kernel-depddp": (
            "bandwidth min_cluster_size max_clusters n_clusters max_levels min_relative_depth alpha sample_size "
            "merge scale feature_map cache decay missing random_state"
        ),
        "consensus": "n_trees n_clusters n_init combine merge missing random_state",
        "ensemble": (
            "n_hyperplanes alpha_max stop_rule quantile bandwidth sample_size scale max_clusters n_clusters "
            "information_criterion n_init missing random_state"
        ),
        "svc": (
            "width outliers adjacency n_neighbors n_segment n_landmarks unclassified scale min_cluster_size "
            "max_clusters quantile min_relative_depth missing random_state"
        ),
        "density": (
            "n_clusters max_clusters min_cluster_size quantile sample_size n_landmarks unclassified outliers "
            "feature_map scale cache missing random_state"
        ),
        "kernel-kmeans": "n_clusters max_clusters feature_map n_init sample_size scale cache missing random_state",
        "spectral": (
            "n_clusters max_clusters n_init sample_size scale cache missing random_state kernel n_landmarks number_rule"
        ),
        "bisecting-kmeans": (
            "bandwidth min_cluster_size max_clusters n_clusters max_levels sample_size merge scale feature_map "
            "cache decay missing random_state"
        ),
        "clusterability": (
            "bandwidth stop_rule quantile min_cluster_size order max_clusters n_clusters max_levels "
            "min_relative_depth alpha sample_size refine merge scale feature_map cache decay missing random_state"
        ),
        "normalised-cut": (
            "bandwidth stop_rule quantile min_cluster_size order max_clusters n_clusters max_levels "
            "min_relative_depth alpha sample_size refine merge scale feature_map cache decay missing random_state"
        ),
        "hierarchical-spectral": (
            "bandwidth min_cluster_size max_clusters n_clusters max_levels sample_size merge scale feature_map "
            "cache decay missing random_state"
        ),
        "semi-supervised": (
            "bandwidth sample_size scale feature_map cache missing random_state alpha_max margin max_labelled"
        ),
    }.items()
}
"""Names of the parameters that commands and job files may set, by the names of the methods, the default first."""

FLAGS = ("refine", "merge", "scale", "criterion_first", "fixed_directions", "whiten")
"""Those that are true or false in all methods, and take no value on the command line."""
