package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/controllers/scheduler"
	"github.com/berthproject/berth/engine/cluster"
	"github.com/berthproject/berth/engine/descheduling"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/scheduling"
	"github.com/berthproject/berth/explain"
	"github.com/berthproject/berth/internal/journal"
	"github.com/berthproject/berth/internal/recording"
	"github.com/berthproject/berth/internal/settings"
	"github.com/berthproject/berth/ui"
	"github.com/berthproject/berth/ui/fleet"
)

// history returns the answers for earlier times, nil without a journal. A user may read what the user may list now:
// the recording has no earlier permissions.
func (a uiAnswers) history() *ui.History {
	if a.journal == "" {
		return nil
	}
	return &ui.History{Range: a.recordedRange, Fleet: a.fleetAt, Queue: a.queueAt, Pod: a.explainPodAt, Budgets: a.budgetsAt, Drain: a.drainAt, Zones: a.zonesAt,
		Descheduler: a.deschedulerAt, NodePressure: a.nodePressureAt}
}

// decisionResources are the resources that a decision depends on, by group: those that informers.List requests, even
// if the API server does not serve them.
var decisionResources = map[string][]string{
	"":                {"nodes", "pods", "namespaces", "services", "replicationcontrollers", "persistentvolumes", "persistentvolumeclaims"},
	"apps":            {"replicasets", "statefulsets"},
	"policy":          {"poddisruptionbudgets"},
	"storage.k8s.io":  {"storageclasses", "csinodes", "csidrivers", "csistoragecapacities", "volumeattachments"},
	"resource.k8s.io": {"resourceclaims"},
	"berth.dev":       {"holds"},
}

// requireList returns a Forbidden error unless the user may list a resource in a namespace, or in all if it is empty.
func requireList(ctx context.Context, config *rest.Config, resource schema.GroupResource, namespace string) error {
	return requireAccess(ctx, config, authorizationv1.ResourceAttributes{Verb: "list", Group: resource.Group, Resource: resource.Resource, Namespace: namespace})
}

// requireAccess returns a Forbidden error unless the user has access.
func requireAccess(ctx context.Context, config *rest.Config, access authorizationv1.ResourceAttributes) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &access}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if review.Status.Allowed {
		return nil
	}
	scope := "in all namespaces"
	switch {
	case access.Name != "":
		scope = access.Name
	case access.Namespace != "":
		scope = "in namespace " + access.Namespace
	}
	resource := schema.GroupResource{Group: access.Group, Resource: access.Resource}
	name := resource.String()
	if access.Subresource != "" {
		name += "/" + access.Subresource
	}
	return apierrors.NewForbidden(resource, access.Name, fmt.Errorf("an earlier time shows what you may read now, and you may not %s %s %s", access.Verb, name, scope))
}

// requireDecisionResources returns a Forbidden error unless the user may list all that a decision depends on.
func requireDecisionResources(ctx context.Context, config *rest.Config) error {
	for group, resources := range decisionResources {
		for _, r := range resources {
			if err := requireList(ctx, config, schema.GroupResource{Group: group, Resource: r}, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordedRange returns the times that the recording covers. Its end is the present.
func (a uiAnswers) recordedRange(ctx context.Context, config *rest.Config, namespace string) ([]byte, error) {
	if err := requireList(ctx, config, corev1.Resource("pods"), namespace); err != nil {
		return nil, err
	}
	segments, err := recording.Segments(a.journal)
	if err != nil {
		return nil, err
	}
	segments = slices.DeleteFunc(segments, func(s recording.Segment) bool { return s.Header.Schema != recording.Schema })
	if len(segments) == 0 {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]time.Time{"from": segments[0].Header.Start, "to": time.Now().UTC()})
}

func stateAt(journalDir string, at time.Time) (*recording.State, error) {
	segments, err := recording.Segments(journalDir)
	if err != nil {
		return nil, err
	}
	state, err := recording.StateAt(segments, at)
	if errors.Is(err, recording.ErrNoState) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "recorded inputs of the scheduler"}, at.Format(time.RFC3339))
	}
	return state, err
}

// fleetAt returns the nodes and pods at a time. The user must be allowed to list at least one of the two kinds; the
// other kind is reported in errors.
func (a uiAnswers) fleetAt(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error) {
	out := struct {
		At time.Time `json:"at"`
		fleet.Changes
		Errors []string `json:"errors"`
	}{Errors: []string{}}
	nodesErr := requireList(ctx, config, corev1.Resource("nodes"), "")
	podsErr := requireList(ctx, config, corev1.Resource("pods"), namespace)
	for _, err := range []error{nodesErr, podsErr} {
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
		}
	}
	if len(out.Errors) == 2 {
		return nil, podsErr
	}
	state, err := stateAt(a.journal, at)
	if err != nil {
		return nil, err
	}
	out.At = state.At
	if nodesErr == nil {
		for _, n := range state.Nodes() {
			out.Nodes = append(out.Nodes, newFleetNode(n))
		}
	}
	if podsErr == nil {
		for _, p := range podsIn(state, namespace) {
			out.AddPod(newFleetPod(p, state.Details(p.UID)))
		}
	}
	return json.Marshal(out)
}

// podsIn returns the pods of a namespace, or of all if it is empty.
func podsIn(state *recording.State, namespace string) []*model.Pod {
	return slices.DeleteFunc(state.Pods(), func(p *model.Pod) bool { return namespace != "" && p.Namespace != namespace })
}

func newFleetNode(n *model.Node) fleet.Node {
	out := fleet.Node{Name: n.Name, Labels: map[string]string{}, Allocatable: amounts(&n.Allocatable), Ready: n.Ready, Cordoned: n.Unschedulable, Taints: []string{}, Pressure: []string{}}
	out.Allocatable["pods"] = float64(n.AllocatablePods)
	for _, l := range n.Labels {
		out.Labels[l.Key] = l.Value
	}
	for _, t := range n.Taints {
		text := t.Key
		if t.Value != "" {
			text += "=" + t.Value
		}
		out.Taints = append(out.Taints, text+":"+t.Effect.String())
	}
	for p := range model.NumPressures {
		if n.Pressures[p].True {
			out.Pressure = append(out.Pressure, [...]string{"MemoryPressure", "DiskPressure", "PIDPressure"}[p])
		}
	}
	return out
}

// newFleetPod describes a pod. Without details, the QoS classes Burstable and Guaranteed are not distinguished.
func newFleetPod(p *model.Pod, details *descheduling.PodDetails) *fleet.Pod {
	out := &fleet.Pod{Namespace: p.Namespace, Name: p.Name, Node: p.NodeName, Priority: p.Spec.Priority, Owner: fleet.Owner(p.Owner.Kind, p.Owner.Name),
		QoS: "not BestEffort", Requests: amounts(&p.Spec.Requests)}
	switch {
	case p.Spec.BestEffort:
		out.QoS = string(corev1.PodQOSBestEffort)
	case details != nil && details.Guaranteed:
		out.QoS = string(corev1.PodQOSGuaranteed)
	case details != nil:
		out.QoS = string(corev1.PodQOSBurstable)
	}
	out.Requests["pods"] = 1
	return out
}

// amounts returns resources in cores, bytes and counts.
func amounts(r *model.Resources) map[string]float64 {
	out := map[string]float64{"cpu": float64(r.MilliCPU) / 1000, "memory": float64(r.Memory), "ephemeral-storage": float64(r.Ephemeral)}
	for _, s := range r.Scalars {
		out[s.Name] = float64(s.Amount)
	}
	return out
}

// queueAt returns the pending pods at a time in the format of `berth queue -o json`.
func (a uiAnswers) queueAt(ctx context.Context, config *rest.Config, namespace string, at time.Time) ([]byte, error) {
	if err := requireList(ctx, config, corev1.Resource("pods"), namespace); err != nil {
		return nil, err
	}
	state, err := stateAt(a.journal, at)
	if err != nil {
		return nil, err
	}
	var list []explain.PendingPod
	for _, p := range podsIn(state, namespace) {
		if p.NodeName == "" && !p.Deleting {
			d, _ := state.LastDecision(p.UID)
			list = append(list, pendingPodAt(p, d))
		}
	}
	explain.SortPendingPods(list)
	return explain.QueueJSON(list)
}

// pendingPodAt describes a pending pod from the last decision about it, as queueEntry does from its conditions.
func pendingPodAt(p *model.Pod, d recording.Decision) explain.PendingPod {
	out := explain.PendingPod{Pod: p.Key(), Scheduler: p.Spec.SchedulerName, Priority: p.Spec.Priority, State: explain.PendingNew,
		Created: p.Created, Since: p.Created, Nominated: p.NominatedNodeName, Gates: p.Spec.Gates}
	switch e := d.Effect.(type) {
	case scheduling.ReportUnschedulable:
		out.State, out.Since, out.Message = explain.PendingUnschedulable, d.At, explain.Message(e.Summary)
		if e.Summary.Error != "" {
			out.State = explain.PendingError
		}
	case scheduling.Preempt:
		out.Nominated, out.Since = cmp.Or(out.Nominated, e.Plan.Node), d.At
	}
	switch {
	case len(out.Gates) > 0:
		out.State = explain.PendingGated
	case out.Nominated != "":
		out.State = explain.PendingNominated
	}
	return out
}

// explainPodAt returns what `berth explain pod -o json` would have returned at a time.
func (a uiAnswers) explainPodAt(ctx context.Context, config *rest.Config, namespace, name string, at time.Time) ([]byte, error) {
	if err := requireDecisionResources(ctx, config); err != nil {
		return nil, err
	}
	x, err := explainRecordedPod(a.settings, a.journal, namespace, name, at)
	if err != nil {
		return nil, err
	}
	return x.JSON()
}

// recordedPod is an explanation of a pod at an earlier time.
type recordedPod interface {
	JSON() ([]byte, error)
}

// explainRecordedPod evaluates a pod in the recorded state of a time.
func explainRecordedPod(settings settings.Settings, journalDir, namespace, name string, at time.Time) (recordedPod, error) {
	decisions, _, err := journal.ReadDecisions(journalDir, namespace, name)
	if err != nil {
		return nil, err
	}
	decisions = slices.DeleteFunc(decisions, func(d journal.Decision) bool { return d.Time.After(at) })
	recorded, err := stateAt(journalDir, at)
	if err != nil {
		return nil, err
	}
	pods := recorded.Pods()
	i := slices.IndexFunc(pods, func(p *model.Pod) bool { return p.Namespace == namespace && p.Name == name })
	if i < 0 && len(decisions) == 0 {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), fmt.Sprintf("%s/%s at %s", namespace, name, at.Format(time.RFC3339)))
	}
	if i < 0 {
		return explain.DeletedPod{Pod: namespace + "/" + name, Decisions: decisions}, nil
	}
	profile, err := profileFor(settings, pods[i])
	if err != nil {
		return nil, err
	}
	p := settings.Berth.Scheduler.Preemption
	state, err := clusterState(recorded)
	if err != nil {
		return nil, err
	}
	explanation := explain.ExplainPod(state, profile, settings.Berth.Scheduler.Seed, preemption.Options{LedgerBudgets: p.LedgerBudgets, PreferMovable: p.PreferMovableVictims}, pods[i])
	explanation.Decisions, explanation.Extenders = decisions, settings.Scheduler.Extenders.AnyInterested(pods[i])
	return explanation, nil
}

// clusterState returns the cluster state of recorded objects.
func clusterState(recorded *recording.State) (*cluster.State, error) {
	m, err := scheduler.NewRecordedMachine(recorded.Options)
	if err != nil {
		return nil, err
	}
	m.Step(recorded.At, recorded.Objects(), 0)
	return m.State(), nil
}
