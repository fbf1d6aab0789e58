package daemonset

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/berthproject/berth/control/template"
	shared "github.com/berthproject/berth/control/workload"
	"github.com/berthproject/berth/control/workload/history"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/workload"
	"github.com/berthproject/berth/internal/intake"
)

// carryOut plans what to do about a DaemonSet with these pods, does it, and writes the status.
func (s *shell) carryOut(ctx context.Context, owner *shared.Owner, ds *appsv1.DaemonSet, revisions *history.Revisions, pods []*corev1.Pod) (wake time.Time, err error) {
	now := time.Now()
	hash := revisions.Present().Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	seen := s.compile(ds, pods)
	nodes, desired, err := s.places(ds, hash, now)
	if err != nil {
		return time.Time{}, err
	}
	machine := intake.DaemonSet(ds, hash, desired)
	plan := machine.Plan(now, nodes, seen)
	_, created := shared.Slowly(len(plan.Create), func(i int) error {
		pod := template.Daemon(ds, owner.Reference(), hash, plan.Create[i])
		return s.pods.Create(ctx, owner, pod)
	})
	if shared.TerminatingNamespace(created) {
		created = nil // what is left goes with the namespace
	}
	_, deleted := shared.Slowly(len(plan.Delete), func(i int) error {
		return s.delete(ctx, owner, ds, pods[plan.Delete[i].Pod], &seen[plan.Delete[i].Pod], plan.Delete[i].Why)
	})
	written := s.write(ctx, ds, &plan.Status, revisions.Collisions)
	live := map[string]bool{}
	for i := range seen {
		live[seen[i].Hash] = true
	}
	trimmed := s.history.Trim(ctx, revisions, func(r *appsv1.ControllerRevision) bool {
		return live[r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]]
	}, ds.Spec.RevisionHistoryLimit)
	return plan.Wake, errors.Join(created, deleted, written, trimmed)
}

// compile reads the pods, and remembers how those died that failed.
func (s *shell) compile(ds *appsv1.DaemonSet, pods []*corev1.Pod) []workload.DaemonPod {
	seen := make([]workload.DaemonPod, len(pods))
	for i, p := range pods {
		seen[i] = workload.DaemonPod{Pod: intake.WorkloadPod(p), Target: template.DaemonNode(p), Hash: intake.RevisionOf(p)}
		if d, ok := workload.DeathOf(&seen[i].Pod); ok && p.Status.Phase == corev1.PodFailed {
			s.deaths.Add(ds.UID, spot(seen[i].Target, seen[i].Hash), p.UID, d)
		}
	}
	return seen
}

// spot is where deaths add up: what a template did on a node is forgiven to the next one.
func spot(node, hash string) string { return node + "/" + hash }

// places judges the nodes, and counts those that are to have a pod.
func (s *shell) places(ds *appsv1.DaemonSet, hash string, now time.Time) (out []workload.DaemonNode, desired int, err error) {
	list, err := s.nodes.List(labels.Everything())
	if err != nil {
		return nil, 0, err
	}
	trial := template.Pod(&ds.Spec.Template, ds.Namespace, metav1.OwnerReference{})
	template.Tolerate(&trial.Spec)
	only := trial.Spec.NodeName
	spec := s.intake.Pod(trial).Spec
	for _, n := range s.compileNodes(list) {
		place := workload.DaemonNode{Name: n.Name}
		if only == "" || only == n.Name {
			place.Run, place.Stay = placement.Belongs(spec, n)
		}
		if place.Run {
			desired++
			until, why := s.avoid.NotBefore(now, ds.UID, n.Name, s.deaths.At(ds.UID, spot(n.Name, hash), now))
			place.NotBefore = until
			if !until.IsZero() && s.told.Say(ds.UID, n.Name, until) {
				s.events.Event(ds, corev1.EventTypeWarning, shared.HeldBack, why)
			}
		}
		out = append(out, place)
	}
	return out, desired, nil
}

// compileNodes reads the nodes; one that is the same object as before need not be read again.
func (s *shell) compileNodes(list []*corev1.Node) []*model.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]compiledNode, len(list))
	out := make([]*model.Node, 0, len(list))
	for _, n := range list {
		c := s.compiled[n.Name]
		if c.from != n {
			c = compiledNode{n, s.intake.Node(n)}
		}
		next[n.Name] = c
		out = append(out, c.node)
	}
	s.compiled = next
	return out
}

// delete deletes a pod, and says so when it is because it ended.
func (s *shell) delete(ctx context.Context, owner *shared.Owner, ds *appsv1.DaemonSet, p *corev1.Pod, seen *workload.DaemonPod, why workload.DaemonReason) error {
	switch why {
	case workload.DaemonFailed:
		s.events.Eventf(ds, corev1.EventTypeWarning, "FailedDaemonPod", "Found failed daemon pod %s/%s on node %s, will try to kill it", p.Namespace, p.Name, seen.Target)
	case workload.DaemonSucceeded:
		s.events.Eventf(ds, corev1.EventTypeNormal, "SucceededDaemonPod", "Found succeeded daemon pod %s/%s on node %s, will try to delete it", p.Namespace, p.Name, seen.Target)
	}
	return s.pods.Delete(ctx, owner, p)
}

// write writes the status if it changed.
func (s *shell) write(ctx context.Context, ds *appsv1.DaemonSet, n *workload.DaemonStatus, collisions *int32) error {
	status := appsv1.DaemonSetStatus{
		CurrentNumberScheduled: n.Current, NumberMisscheduled: n.Misscheduled, DesiredNumberScheduled: n.Desired, NumberReady: n.Ready, ObservedGeneration: n.Observed,
		UpdatedNumberScheduled: n.Updated, NumberAvailable: n.Available, NumberUnavailable: n.Unavailable, CollisionCount: collisions, Conditions: ds.Status.Conditions,
	}
	if equality.Semantic.DeepEqual(ds.Status, status) {
		return nil
	}
	ds = ds.DeepCopy()
	ds.Status = status
	_, err := s.client.AppsV1().DaemonSets(ds.Namespace).UpdateStatus(ctx, ds, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
