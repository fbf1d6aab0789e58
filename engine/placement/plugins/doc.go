// Package plugins implements the filter and score plugins of kube-scheduler, and HoldAvoid.
//
// A file implements one plugin and has its name; files with the suffix _score implement its score extension point. The
// registry maps the name of a plugin to its functions. It also maps it to the cluster events that may make a pod
// schedulable that the plugin rejected.
//
// A plugin reads only the cluster state and the pod of the Evaluation. Its verdicts, reasons
// and scores equal those of kube-scheduler, including the order of floating-point operations.
// Package conformance checks this with recorded decisions.
package plugins
