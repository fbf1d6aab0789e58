// Package history reads displacement records: from events, from a journal if there is one, and from the events and
// conditions that upstream components write (kube-scheduler, taint manager, kubelet, descheduler, eviction API).
// It merges all information about a pod into one record.
//
// It lists events by label and by reason, so that other events are not transferred.
package history
