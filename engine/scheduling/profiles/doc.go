// Package profiles defines how a scheduling profile makes decisions.
//
// A Profile is a scheduler name with a Placer. New returns a Profile whose Placer combines placement (filter
// and score plugins on the fast path) and preemption. That Placer is also an Explainer, which profiles with
// extenders need. The scheduling machine calls the Placer of a pod's schedulerName. Tests implement Placer
// with simpler rules.
package profiles
