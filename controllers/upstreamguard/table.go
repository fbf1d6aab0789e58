package upstreamguard

import (
	"fmt"
	"slices"
	"strings"
)

// upstreamControllers are the controllers of kube-controller-manager that do what a loop does, as its flag --controllers calls them.
// Loops that are not here are Berth's alone.
var upstreamControllers = map[string][]string{
	"nodelifecycle":         {"node-lifecycle-controller"},
	"taints":                {"taint-eviction-controller"},
	"podgc":                 {"pod-garbage-collector-controller"},
	"disruption":            {"disruption-controller"},
	"namespace":             {"namespace-controller"},
	"serviceaccount":        {"serviceaccount-controller", "root-ca-certificate-publisher-controller"},
	"garbage":               {"garbage-collector-controller"},
	"replicationcontroller": {"replicationcontroller-controller"},
	"replicaset":            {"replicaset-controller"},
	"deployment":            {"deployment-controller"},
	"statefulset":           {"statefulset-controller"},
	"daemonset":             {"daemonset-controller"},
	"job":                   {"job-controller", "ttl-after-finished-controller"},
	"cronjob":               {"cronjob-controller"},
	"endpoints":             {"endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller"},
	"volume":                {"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"},
}

// berthOnly are the loops that kube-controller-manager has nothing like.
var berthOnly = []string{"records"}

// Known says whether a loop is accounted for: has twins, or is Berth's alone.
func Known(controller string) bool {
	return len(upstreamControllers[controller]) > 0 || slices.Contains(berthOnly, controller)
}

// ConflictError says that loops must not run beside a kube-controller-manager.
type ConflictError struct {
	Controllers []string // those whose twins may run
	Holder      string   // of its Lease
	Host        string   // of the API server
}

// Error says which flags of whom to change.
func (r *ConflictError) Error() string {
	off := []string{"*"}
	for _, l := range r.Controllers {
		for _, t := range upstreamControllers[l] {
			off = append(off, "-"+t)
		}
	}
	return fmt.Sprintf("%s: a kube-controller-manager runs at %s (Lease %s/%s, held by %s) and does the same: start it with --controllers=%s, and then this with --upstream-off=%s",
		controllerList(r.Controllers), r.Host, LeaseNamespace, LeaseName, r.Holder, strings.Join(off, ","), strings.Join(r.Controllers, ","))
}

func controllerList(names []string) string {
	if len(names) == 1 {
		return "loop " + names[0]
	}
	return "loops " + strings.Join(names, ", ")
}

// conflicting are the loops among names that have a twin which is not said to be off.
func conflicting(names, off []string) (out []string) {
	for _, n := range names {
		if len(upstreamControllers[n]) > 0 && !slices.Contains(off, n) {
			out = append(out, n)
		}
	}
	return out
}
