package upstreamguard

import (
	"fmt"
	"slices"
	"strings"
)

// upstreamControllers maps each controller to its counterparts in kube-controller-manager, by the names of the flag
// --controllers. Controllers that are not in the map exist only in Berth.
var upstreamControllers = map[string][]string{
	"nodelifecycle":           {"node-lifecycle-controller"},
	"nodeipam":                {"node-ipam-controller"},
	"tainteviction":           {"taint-eviction-controller"},
	"podgc":                   {"pod-garbage-collector-controller"},
	"disruption":              {"disruption-controller"},
	"namespace":               {"namespace-controller"},
	"serviceaccount":          {"serviceaccount-controller", "root-ca-certificate-publisher-controller"},
	"garbagecollector":        {"garbage-collector-controller"},
	"replicationcontroller":   {"replicationcontroller-controller"},
	"replicaset":              {"replicaset-controller"},
	"deployment":              {"deployment-controller"},
	"statefulset":             {"statefulset-controller"},
	"daemonset":               {"daemonset-controller"},
	"job":                     {"job-controller", "ttl-after-finished-controller"},
	"cronjob":                 {"cronjob-controller"},
	"endpoints":               {"endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller"},
	"resourcequota":           {"resourcequota-controller"},
	"horizontalpodautoscaler": {"horizontal-pod-autoscaler-controller"},
	"volume":                  {"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"},
}

// berthOnly lists the controllers without an upstream counterpart.
var berthOnly = []string{"displacementrecords"}

// IsKnown reports whether a controller is in one of the tables.
func IsKnown(controller string) bool {
	return len(upstreamControllers[controller]) > 0 || slices.Contains(berthOnly, controller)
}

// ConflictError reports that controllers must not run concurrently with a kube-controller-manager.
type ConflictError struct {
	Controllers []string // controllers whose upstream counterparts may be running
	Holder      string   // of the Lease
	Host        string   // of the API server
}

// Error names the conflict and the flags to change.
func (e *ConflictError) Error() string {
	flags := []string{"*"}
	for _, name := range e.Controllers {
		for _, upstream := range upstreamControllers[name] {
			flags = append(flags, "-"+upstream)
		}
	}
	return fmt.Sprintf("%s: a kube-controller-manager at %s runs the same controllers (Lease %s/%s, held by %s): start it with --controllers=%s, and berth with --upstream-off=%s",
		controllerList(e.Controllers), e.Host, LeaseNamespace, LeaseName, e.Holder, strings.Join(flags, ","), strings.Join(e.Controllers, ","))
}

func controllerList(names []string) string {
	if len(names) == 1 {
		return "controller " + names[0]
	}
	return "controllers " + strings.Join(names, ", ")
}

// conflictsOf returns the controllers among names whose upstream counterparts are not switched off.
func conflictsOf(names, switchedOff []string) (out []string) {
	for _, n := range names {
		if len(upstreamControllers[n]) > 0 && !slices.Contains(switchedOff, n) {
			out = append(out, n)
		}
	}
	return out
}
