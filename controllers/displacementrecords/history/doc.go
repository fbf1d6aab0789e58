// Package history reads which pods were displaced, when, by whom and why: from records (in events, and in a
// journal where there is one), and, as far as they tell, from the events and conditions that the parts
// of any Kubernetes cluster write: kube-scheduler, the taint manager, kubelets, the descheduler, the
// eviction API. Of all that there is about a pod it makes one record.
//
// It asks the API for events by label and by reason, so that the many others stay where they are.
package history
