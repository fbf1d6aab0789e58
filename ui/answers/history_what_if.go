package answers

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/reports"
)

// zonesAt returns what `berth zones -o json` would have returned at a time.
func (a Source) zonesAt(ctx context.Context, config *rest.Config, at time.Time) ([]byte, error) {
	if err := requireList(ctx, config, corev1.Resource("nodes"), ""); err != nil {
		return nil, err
	}
	state, err := reports.StateAt(a.Journal, at)
	if err != nil {
		return nil, err
	}
	var nodes []nodelifecycle.Node
	for _, n := range state.Nodes() {
		nodes = append(nodes, nodeStatusAt(state, n))
	}
	return json.Marshal(explain.ZonesOf(nodes, a.Settings.Berth.NodeLifecycle.Options(), at))
}

// nodeStatusAt returns the recorded status of a node. Recordings of simulations have none; then it consists of
// what the scheduler reads, without times.
func nodeStatusAt(state *recording.State, n *model.Node) nodelifecycle.Node {
	if status := state.NodeStatus(n.UID); status != nil {
		return *status
	}
	ready := nodelifecycle.False
	if n.Ready {
		ready = nodelifecycle.True
	}
	label := func(key string) string {
		value, _ := n.Labels.Get(key)
		return value
	}
	out := nodelifecycle.Node{Name: n.Name, UID: n.UID, Unschedulable: n.Unschedulable, Conditions: []nodelifecycle.Condition{{Type: nodelifecycle.Ready, Status: ready}},
		Zone: nodelifecycle.ZoneName(label(corev1.LabelTopologyRegion), label(corev1.LabelTopologyZone))}
	for _, t := range n.Taints {
		out.Taints = append(out.Taints, model.TimedTaint{Taint: t})
	}
	return out
}

// whatIfState returns the state at a time for a preview, if the user may list all that a decision depends on.
func (a Source) whatIfState(ctx context.Context, config *rest.Config, at time.Time) (*recording.State, error) {
	if err := requireDecisionResources(ctx, config); err != nil {
		return nil, err
	}
	return reports.StateAt(a.Journal, at)
}

// recordedObjects returns the objects of a state, pods last, because they refer to other objects.
func recordedObjects(state *recording.State) []any {
	var objects, pods []any
	for _, o := range state.Objects() {
		if _, ok := o.(*model.Pod); ok {
			pods = append(pods, o)
		} else {
			objects = append(objects, o)
		}
	}
	return slices.Concat(objects, pods)
}

// drainAt returns what `berth drain --what-if -o json` would have returned at a time. Replicas of workloads are not
// recorded: the preview assumes that each has its desired replicas.
func (a Source) drainAt(ctx context.Context, config *rest.Config, nodes []string, o drain.Options, at time.Time) ([]byte, error) {
	state, err := a.whatIfState(ctx, config, at)
	if err != nil {
		return nil, err
	}
	s, err := reports.DrainScheduler(a.Settings)
	if err != nil {
		return nil, err
	}
	unknown := func(model.Owner) budget.Scale { return budget.Scale{Fault: "scales are not recorded"} }
	r, err := drain.Preview(drain.Cluster{Now: at, Objects: recordedObjects(state), Scale: unknown, Scheduler: s}, reports.Distinct(nodes), o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return r.JSON()
}

// deschedulerAt returns what `berth descheduler --dry-run -o json` would have returned at a time. Finished pods are
// not recorded.
func (a Source) deschedulerAt(ctx context.Context, config *rest.Config, maxEvictions *int, at time.Time) ([]byte, error) {
	state, err := a.whatIfState(ctx, config, at)
	if err != nil {
		return nil, err
	}
	o := descheduler.Options{Policy: a.Policy}
	reports.LimitEvictions(&o.Policy, maxEvictions)
	if o.Seed, o.Profiles, err = reports.SchedulerProfiles(a.Settings); err != nil {
		return nil, err
	}
	holds := descheduler.HoldSupport{Reason: "the recording does not say whether the scheduler honored Holds"}
	if honored, ok := state.HoldsHonored(); honored {
		holds = descheduler.HoldSupport{Supported: true}
	} else if ok {
		holds.Reason = "the API server did not serve Holds"
	}
	r, err := descheduler.Preview(o, descheduler.RecordedCluster{Now: at, Objects: recordedObjects(state), Details: state.Details, Holds: holds,
		NotReady: func(n *model.Node) bool { status := nodeStatusAt(state, n); return status.NotReady() }})
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return r.JSON()
}

// nodePressureAt returns the last recorded output of `berth explain node NAME --pressure -o json` before a time.
func (a Source) nodePressureAt(ctx context.Context, config *rest.Config, node string, at time.Time) ([]byte, error) {
	if err := requireAccess(ctx, config, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Subresource: "proxy", Name: node}); err != nil {
		return nil, err
	}
	state, err := reports.StateAt(a.Journal, at)
	if err != nil {
		return nil, err
	}
	if report := state.NodePressure(node); report != "" {
		return []byte(report), nil
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Message: "no report of node " + node + " is recorded before " + at.Format(time.RFC3339) + ": `berth up` records those of its nodes every " + reports.PressureInterval.String()}}
}
