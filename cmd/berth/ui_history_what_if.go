package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/descheduler"
	"github.com/berthproject/berth/drain"
	"github.com/berthproject/berth/engine/budget"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodelifecycle"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/recording"
)

// budgetsAt returns the disruption budgets at a time as a list of the API.
func (a uiAnswers) budgetsAt(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error) {
	if err := requireList(ctx, config, policyv1.Resource("poddisruptionbudgets"), namespace); err != nil {
		return nil, err
	}
	state, err := stateAt(a.journal, at)
	if err != nil {
		return nil, err
	}
	list := struct {
		Items []recordedBudget `json:"items"`
	}{Items: []recordedBudget{}}
	for _, b := range state.Budgets() {
		if namespace == "" || b.Namespace == namespace {
			list.Items = append(list.Items, newRecordedBudget(b))
		}
	}
	return json.Marshal(list)
}

// recordedBudget is what is recorded of a PodDisruptionBudget, in the form of the API.
type recordedBudget struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              policyv1.PodDisruptionBudgetSpec `json:"spec"`
	Status            recordedBudgetStatus             `json:"status"`
}

type recordedBudgetStatus struct {
	DisruptionsAllowed int32                `json:"disruptionsAllowed"`
	CurrentHealthy     int32                `json:"currentHealthy"`
	DesiredHealthy     int32                `json:"desiredHealthy"`
	ExpectedPods       int32                `json:"expectedPods"`
	Debits             map[string]time.Time `json:"disruptedPods,omitempty"`
	Conditions         []metav1.Condition   `json:"conditions,omitempty"`
}

func newRecordedBudget(b *model.Budget) recordedBudget {
	out := recordedBudget{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, UID: types.UID(b.UID), ResourceVersion: b.ResourceVersion},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: budgetAmount(b.MinAvailable), MaxUnavailable: budgetAmount(b.MaxUnavailable)},
		Status: recordedBudgetStatus{DisruptionsAllowed: b.DisruptionsAllowed, CurrentHealthy: b.CurrentHealthy, DesiredHealthy: b.DesiredHealthy,
			ExpectedPods: b.ExpectedPods, Debits: map[string]time.Time{}}}
	for i, name := range b.Disrupted {
		out.Status.Debits[name] = b.DisruptedAt[i].UTC()
	}
	if b.ObservedGeneration == 0 {
		return out // the status is not computed yet
	}
	c := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason}
	switch {
	case b.SyncError != "":
		c.Reason, c.Message = policyv1.SyncFailedReason, b.SyncError
	case b.DisruptionsAllowed > 0:
		c.Status, c.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	out.Status.Conditions = []metav1.Condition{c}
	return out
}

func budgetAmount(n model.IntOrPercent) *intstr.IntOrString {
	out := intstr.FromInt32(n.Value)
	switch {
	case !n.Set:
		return nil
	case n.Percent:
		out = intstr.FromString(fmt.Sprint(n.Value, "%"))
	}
	return &out
}

// zonesAt returns what `berth zones -o json` would have returned at a time.
func (a uiAnswers) zonesAt(ctx context.Context, config *rest.Config, at time.Time) ([]byte, error) {
	if err := requireList(ctx, config, corev1.Resource("nodes"), ""); err != nil {
		return nil, err
	}
	state, err := stateAt(a.journal, at)
	if err != nil {
		return nil, err
	}
	var nodes []nodelifecycle.Node
	for _, n := range state.Nodes() {
		nodes = append(nodes, nodeStatusAt(state, n))
	}
	return json.Marshal(explain.ZonesOf(nodes, a.settings.Berth.NodeLifecycle.Options(), at))
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
func (a uiAnswers) whatIfState(ctx context.Context, config *rest.Config, at time.Time) (*recording.State, error) {
	if err := requireDecisionResources(ctx, config); err != nil {
		return nil, err
	}
	return stateAt(a.journal, at)
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
// recorded: the preview assumes that each has the number that it wants.
func (a uiAnswers) drainAt(ctx context.Context, config *rest.Config, nodes []string, o drain.Options, at time.Time) ([]byte, error) {
	state, err := a.whatIfState(ctx, config, at)
	if err != nil {
		return nil, err
	}
	s, err := drainScheduler(a.settings)
	if err != nil {
		return nil, err
	}
	unknown := func(model.Owner) budget.Scale { return budget.Scale{Fault: "scales are not recorded"} }
	r, err := drain.Preview(drain.Cluster{Now: at, Objects: recordedObjects(state), Scale: unknown, Scheduler: s}, dedupe(nodes), o)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return r.JSON()
}

// deschedulerAt returns what `berth descheduler --dry-run -o json` would have returned at a time. Finished pods are
// not recorded.
func (a uiAnswers) deschedulerAt(ctx context.Context, config *rest.Config, maxEvictions *int, at time.Time) ([]byte, error) {
	state, err := a.whatIfState(ctx, config, at)
	if err != nil {
		return nil, err
	}
	o := descheduler.Options{Policy: a.policy}
	limitEvictions(&o.Policy, maxEvictions)
	if o.Seed, o.Profiles, err = schedulerProfiles(a.settings); err != nil {
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
func (a uiAnswers) nodePressureAt(ctx context.Context, config *rest.Config, node string, at time.Time) ([]byte, error) {
	if err := requireAccess(ctx, config, authorizationv1.ResourceAttributes{Verb: "get", Resource: "nodes", Subresource: "proxy", Name: node}); err != nil {
		return nil, err
	}
	state, err := stateAt(a.journal, at)
	if err != nil {
		return nil, err
	}
	if report := state.NodePressure(node); report != "" {
		return []byte(report), nil
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound,
		Message: "no report of node " + node + " is recorded before " + at.Format(time.RFC3339) + ": `berth up` records those of its nodes every " + pressureInterval.String()}}
}
