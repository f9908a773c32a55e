// Package loaders turns a JSON config and a dataset's manifest into batches.
//
// It goes in three visible steps. [Check] reads what was written and reports
// everything that is wrong with it at once, with places; it needs no
// TensorFlow. What it returns is a [Plan]: checked, typed, defaults filled in,
// printable. [Open] and [OpenPlan] build the plan into a tf.data graph, a
// [Loader], whose batches are ranged over.
package loaders
