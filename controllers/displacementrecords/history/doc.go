// Package history reads displacement records from events, and from the journal if one exists. It also reconstructs
// them from the events and conditions of upstream components (kube-scheduler, taint manager, kubelet, descheduler,
// eviction API). It merges all information about a pod into one record.
//
// It lists events by label and by reason, so that other events are not transferred.
package history
