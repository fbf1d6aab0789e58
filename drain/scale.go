package drain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/conversion"
)

// A workload that runs one more has all three, written together with its replicas, so that a drain
// that was killed is tidied up by the next one of the node.
const (
	SurgeLabel    = "drain.berth.dev/surge"          // for which pod, by uid
	SurgeNode     = "drain.berth.dev/surge-node"     // annotation: which node that is to leave
	SurgeReplicas = "drain.berth.dev/surge-replicas" // annotation: how many replicas that makes
)

// scalable is a workload whose replicas are written.
type scalable struct {
	name     string // its kind and name
	meta     *metav1.ObjectMeta
	replicas *int32
	patch    func(context.Context, []byte) error
}

// scaleTarget is what sets the replicas of a pod's owner: the owner, or the Deployment above it.
func scaleTarget(ctx context.Context, c kubernetes.Interface, namespace string, o model.Owner) (*scalable, error) {
	get := metav1.GetOptions{}
	switch o.Kind {
	case "ReplicaSet":
		r, err := c.AppsV1().ReplicaSets(namespace).Get(ctx, o.Name, get)
		if err != nil {
			return nil, err
		}
		if d := metav1.GetControllerOfNoCopy(r); d != nil {
			if d.Kind != "Deployment" {
				return nil, fmt.Errorf("ReplicaSet %s belongs to %s %s, which sets its replicas", r.Name, d.Kind, d.Name)
			}
			found, err := c.AppsV1().Deployments(namespace).Get(ctx, d.Name, get)
			return deployment(c, found), err
		}
		return replicaSet(c, r), nil
	case "StatefulSet":
		found, err := c.AppsV1().StatefulSets(namespace).Get(ctx, o.Name, get)
		return statefulSet(c, found), err
	case "ReplicationController":
		found, err := c.CoreV1().ReplicationControllers(namespace).Get(ctx, o.Name, get)
		return replicationController(c, found), err
	}
	return nil, fmt.Errorf("a %s has no replicas to ask for", o.Kind)
}

func deployment(c kubernetes.Interface, o *appsv1.Deployment) *scalable {
	return &scalable{"Deployment " + o.Name, &o.ObjectMeta, o.Spec.Replicas, func(ctx context.Context, data []byte) error {
		_, err := c.AppsV1().Deployments(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{})
		return err
	}}
}

func replicaSet(c kubernetes.Interface, o *appsv1.ReplicaSet) *scalable {
	return &scalable{"ReplicaSet " + o.Name, &o.ObjectMeta, o.Spec.Replicas, func(ctx context.Context, data []byte) error {
		_, err := c.AppsV1().ReplicaSets(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{})
		return err
	}}
}

func statefulSet(c kubernetes.Interface, o *appsv1.StatefulSet) *scalable {
	return &scalable{"StatefulSet " + o.Name, &o.ObjectMeta, o.Spec.Replicas, func(ctx context.Context, data []byte) error {
		_, err := c.AppsV1().StatefulSets(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{})
		return err
	}}
}

func replicationController(c kubernetes.Interface, o *corev1.ReplicationController) *scalable {
	return &scalable{"ReplicationController " + o.Name, &o.ObjectMeta, o.Spec.Replicas, func(ctx context.Context, data []byte) error {
		_, err := c.CoreV1().ReplicationControllers(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{})
		return err
	}}
}

// current is how many it is to run.
func (s *scalable) current() int32 {
	if s.replicas == nil {
		return 1
	}
	return *s.replicas
}

// isSurged says that its replicas are as a surge made them. Who else sets them, to deploy it or to scale it, leaves the marks as they are: then
// there is nothing to take back but these.
func (s *scalable) isSurged() bool {
	return s.meta.Annotations[SurgeReplicas] == strconv.Itoa(int(s.current()))
}

// write sets replicas and marks (nil: none) together, if nobody has changed the workload meanwhile.
func (s *scalable) write(ctx context.Context, replicas int32, uid, node, made any) error {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": s.meta.ResourceVersion, "labels": map[string]any{SurgeLabel: uid},
			"annotations": map[string]any{SurgeNode: node, SurgeReplicas: made}},
		"spec": map[string]any{"replicas": replicas},
	})
	if err != nil {
		return err
	}
	return s.patch(ctx, data)
}

// scaleAttempts is how often a workload is written that others write, too.
const scaleAttempts = 5

// scaleUp has the owner of a pod run one more for it, once.
func (d *Drain) scaleUp(ctx context.Context, p *model.Pod) (err error) {
	for range scaleAttempts {
		var s *scalable
		if s, err = scaleTarget(ctx, d.Client, p.Namespace, p.Owner); err != nil {
			return err
		}
		switch s.meta.Labels[SurgeLabel] {
		case p.UID:
			return nil
		case "":
		default:
			return fmt.Errorf("%s runs one more already for another drain (label %s)", s.name, SurgeLabel)
		}
		n := s.current() + 1
		if err = s.write(ctx, n, p.UID, p.NodeName, strconv.Itoa(int(n))); !apierrors.IsConflict(err) {
			if err == nil {
				d.OnProgress(fmt.Sprintf("%s runs one more for %s", s.name, p.Key()))
			}
			return err
		}
	}
	return err
}

// scaleDown takes that back, once.
func (d *Drain) scaleDown(ctx context.Context, p *model.Pod) (err error) {
	for range scaleAttempts {
		var s *scalable
		if s, err = scaleTarget(ctx, d.Client, p.Namespace, p.Owner); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		if s.meta.Labels[SurgeLabel] != p.UID {
			return nil
		}
		if err = d.undoSurge(ctx, s); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// annotateReplacement tells the owner of a pod that another one stands in for it until the owner is changed, if so. Only Berth's ReplicaSets
// heed that.
func (d *Drain) annotateReplacement(ctx context.Context, e Evict) error {
	if e.SurgePod == nil || e.Pod.Owner.Kind != "ReplicaSet" {
		return nil
	}
	owner, err := d.Client.AppsV1().ReplicaSets(e.Pod.Namespace).Get(ctx, e.Pod.Owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // it makes none any more
	} else if err != nil {
		return err
	}
	return d.annotate(ctx, e.Pod, conversion.ExpectedReplacement(e.SurgePod.Name, owner.Generation))
}

// removeReplacementAnnotation takes that back for a pod that stays. What cannot be taken back ends when the replicas are set back.
func (d *Drain) removeReplacementAnnotation(ctx context.Context, e Evict) {
	if e.SurgePod == nil || e.Pod.Owner.Kind != "ReplicaSet" || ctx.Err() != nil {
		return
	}
	if err := d.annotate(ctx, e.Pod, nil); err != nil && ctx.Err() == nil {
		d.OnProgress(fmt.Sprintf("%s keeps annotation %s: %v", e.Pod.Key(), conversion.ExpectedReplacementAnnotation, err))
	}
}

// annotate writes who stands in for a pod; nil: nobody.
func (d *Drain) annotate(ctx context.Context, p *model.Pod, standIn any) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID, "annotations": map[string]any{conversion.ExpectedReplacementAnnotation: standIn}}})
	if err != nil {
		return err
	}
	_, err = d.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // it has left
	}
	return err
}

// undoSurge takes the marks off a workload, and one off its replicas if they are still as the surge made them.
func (d *Drain) undoSurge(ctx context.Context, s *scalable) error {
	n, done := s.current(), fmt.Sprintf("%s keeps its %d replicas: somebody else has set them meanwhile", s.name, s.current())
	if s.isSurged() {
		n, done = max(n-1, 0), s.name+" runs as many as before"
	}
	err := s.write(ctx, n, nil, nil, nil)
	if err == nil {
		d.OnProgress(done)
	}
	return err
}

// recoverSurges takes up the surges that an earlier drain of the nodes left: they are used where
// their pod and the one more are still asked for, and taken back otherwise. Others write the workloads, too.
func (d *Drain) recoverSurges(ctx context.Context) (err error) {
	for range scaleAttempts {
		if err = d.recoverSurgesOnce(ctx); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (d *Drain) recoverSurgesOnce(ctx context.Context) error {
	left, err := d.listSurged(ctx)
	if err != nil {
		return fmt.Errorf("looking for what an earlier drain left: %w", err)
	}
	for _, s := range left {
		p := d.watcher.View.Pod(s.meta.Labels[SurgeLabel])
		switch {
		case p != nil && !p.Deleting && slices.Contains(d.Nodes, p.NodeName) && s.isSurged():
			d.machine.AdoptSurge(time.Now(), d.watcher.View, p.UID)
		case slices.Contains(d.Nodes, s.meta.Annotations[SurgeNode]):
			if err := d.undoSurge(ctx, s); err != nil {
				return fmt.Errorf("%s: taking back one more that an earlier drain asked for: %w", s.name, err)
			}
		}
	}
	return nil
}

// listSurged are the workloads that run one more for a drain.
func (d *Drain) listSurged(ctx context.Context) (out []*scalable, err error) {
	list := metav1.ListOptions{LabelSelector: SurgeLabel}
	deployments, err1 := d.Client.AppsV1().Deployments("").List(ctx, list)
	sets, err2 := d.Client.AppsV1().ReplicaSets("").List(ctx, list)
	stateful, err3 := d.Client.AppsV1().StatefulSets("").List(ctx, list)
	controllers, err4 := d.Client.CoreV1().ReplicationControllers("").List(ctx, list)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		out = append(out, deployment(d.Client, &deployments.Items[i]))
	}
	for i := range sets.Items {
		out = append(out, replicaSet(d.Client, &sets.Items[i]))
	}
	for i := range stateful.Items {
		out = append(out, statefulSet(d.Client, &stateful.Items[i]))
	}
	for i := range controllers.Items {
		out = append(out, replicationController(d.Client, &controllers.Items[i]))
	}
	return out, nil
}

// undoTimeout is how long that may take.
const undoTimeout = 30 * time.Second

// undoSurges takes back at the end what is still on top; the context may have ended.
func (d *Drain) undoSurges(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	var errs []error
	for _, p := range d.machine.surgedPods() {
		if err := d.scaleDown(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("%s %s runs one more than before: %w; the next drain of %s takes it back", p.Owner.Kind, p.Owner.Name, err, p.NodeName))
		}
	}
	return errors.Join(errs...)
}
