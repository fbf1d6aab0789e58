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

// The label and annotations of a surged workload. They are written together with its replicas, so that
// the next drain of the node undoes the surge if this drain is killed.
const (
	SurgeLabel    = "drain.berth.dev/surge"          // UID of the pod to evict
	SurgeNode     = "drain.berth.dev/surge-node"     // annotation: node of the pod
	SurgeReplicas = "drain.berth.dev/surge-replicas" // annotation: the increased number of replicas
)

// scalable is a workload whose replicas can be changed.
type scalable struct {
	name     string // kind and name
	meta     metav1.Object
	replicas *int32
	patch    func(context.Context, []byte) error
}

// typedClient is the client of a kind in a namespace.
type typedClient[T metav1.Object] interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (T, error)
	Patch(ctx context.Context, name string, t types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (T, error)
}

func newScalable[T metav1.Object](kind string, c typedClient[T], o T, replicas *int32) *scalable {
	return &scalable{kind + " " + o.GetName(), o, replicas, func(ctx context.Context, data []byte) error {
		_, err := c.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{})
		return err
	}}
}

func deployment(c kubernetes.Interface, o *appsv1.Deployment) *scalable {
	return newScalable("Deployment", c.AppsV1().Deployments(o.Namespace), o, o.Spec.Replicas)
}

func replicaSet(c kubernetes.Interface, o *appsv1.ReplicaSet) *scalable {
	return newScalable("ReplicaSet", c.AppsV1().ReplicaSets(o.Namespace), o, o.Spec.Replicas)
}

func statefulSet(c kubernetes.Interface, o *appsv1.StatefulSet) *scalable {
	return newScalable("StatefulSet", c.AppsV1().StatefulSets(o.Namespace), o, o.Spec.Replicas)
}

func replicationController(c kubernetes.Interface, o *corev1.ReplicationController) *scalable {
	return newScalable("ReplicationController", c.CoreV1().ReplicationControllers(o.Namespace), o, o.Spec.Replicas)
}

// getScalable reads a workload.
func getScalable[T metav1.Object](ctx context.Context, c kubernetes.Interface, from typedClient[T], name string, newScalable func(kubernetes.Interface, T) *scalable) (*scalable, error) {
	o, err := from.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return newScalable(c, o), nil
}

// scaleTarget returns the workload that sets the replicas of an owner: itself or its Deployment.
func scaleTarget(ctx context.Context, c kubernetes.Interface, namespace string, o model.Owner) (*scalable, error) {
	switch o.Kind {
	case "ReplicaSet":
		s, err := getScalable(ctx, c, c.AppsV1().ReplicaSets(namespace), o.Name, replicaSet)
		if err != nil {
			return nil, err
		}
		switch d := metav1.GetControllerOfNoCopy(s.meta); {
		case d == nil:
			return s, nil
		case d.Kind != "Deployment":
			return nil, fmt.Errorf("ReplicaSet %s belongs to %s %s, which sets its replicas", o.Name, d.Kind, d.Name)
		default:
			return getScalable(ctx, c, c.AppsV1().Deployments(namespace), d.Name, deployment)
		}
	case "StatefulSet":
		return getScalable(ctx, c, c.AppsV1().StatefulSets(namespace), o.Name, statefulSet)
	case "ReplicationController":
		return getScalable(ctx, c, c.CoreV1().ReplicationControllers(namespace), o.Name, replicationController)
	}
	return nil, fmt.Errorf("%s %s/%s: has no replicas: must be a Deployment, ReplicaSet, StatefulSet or ReplicationController", o.Kind, namespace, o.Name)
}

// current returns the desired number of replicas.
func (s *scalable) current() int32 {
	if s.replicas == nil {
		return 1
	}
	return *s.replicas
}

// isSurged reports whether the replicas are still those set by the surge. Another client that changes
// them does not remove the annotation.
func (s *scalable) isSurged() bool {
	return s.meta.GetAnnotations()[SurgeReplicas] == strconv.Itoa(int(s.current()))
}

// write writes the replicas, the label and the annotations of a surge, unless the workload has changed in
// the meantime. nil deletes a label or annotation.
func (s *scalable) write(ctx context.Context, replicas int32, uid, node, surged any) error {
	data, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": s.meta.GetResourceVersion(), "labels": map[string]any{SurgeLabel: uid},
			"annotations": map[string]any{SurgeNode: node, SurgeReplicas: surged}},
		"spec": map[string]any{"replicas": replicas},
	})
	if err != nil {
		return err
	}
	return s.patch(ctx, data)
}

// scaleAttempts is the maximum number of attempts of a write that conflicts with other writers.
const scaleAttempts = 5

// scaleUp adds a replica to the owner of p, once.
func (d *Drain) scaleUp(ctx context.Context, p *model.Pod) (err error) {
	for range scaleAttempts {
		var s *scalable
		if s, err = scaleTarget(ctx, d.Client, p.Namespace, p.Owner); err != nil {
			return err
		}
		switch s.meta.GetLabels()[SurgeLabel] {
		case p.UID:
			return nil
		case "":
		default:
			return fmt.Errorf("%s already runs an additional replica for another drain (label %s)", s.name, SurgeLabel)
		}
		n := s.current() + 1
		if err = s.write(ctx, n, p.UID, p.NodeName, strconv.Itoa(int(n))); !apierrors.IsConflict(err) {
			if err == nil {
				d.OnProgress(fmt.Sprintf("%s runs an additional replica for %s", s.name, p.Key()))
			}
			return err
		}
	}
	return err
}

// scaleDown removes the replica that scaleUp added, once.
func (d *Drain) scaleDown(ctx context.Context, p *model.Pod) (err error) {
	for range scaleAttempts {
		var s *scalable
		if s, err = scaleTarget(ctx, d.Client, p.Namespace, p.Owner); apierrors.IsNotFound(err) {
			return nil
		} else if err != nil {
			return err
		}
		if s.meta.GetLabels()[SurgeLabel] != p.UID {
			return nil
		}
		if err = d.undoSurge(ctx, s); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

// annotateReplacement annotates a pod with the surge pod that replaces it. The annotation is valid until
// the owner's generation changes. Only Berth's ReplicaSet controller reads the annotation.
func (d *Drain) annotateReplacement(ctx context.Context, p, surgePod *model.Pod) error {
	if surgePod == nil || p.Owner.Kind != "ReplicaSet" {
		return nil
	}
	owner, err := d.Client.AppsV1().ReplicaSets(p.Namespace).Get(ctx, p.Owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // a deleted owner creates no pods
	} else if err != nil {
		return err
	}
	return d.annotate(ctx, p, conversion.ExpectedReplacement(surgePod.Name, owner.Generation))
}

// removeReplacementAnnotation undoes annotateReplacement for a pod that is not evicted. If it fails,
// the annotation becomes invalid when the replicas are reset.
func (d *Drain) removeReplacementAnnotation(ctx context.Context, p, surgePod *model.Pod) {
	if surgePod == nil || p.Owner.Kind != "ReplicaSet" || ctx.Err() != nil {
		return
	}
	if err := d.annotate(ctx, p, nil); err != nil && ctx.Err() == nil {
		d.OnProgress(fmt.Sprintf("annotation %s of %s could not be removed: %v", conversion.ExpectedReplacementAnnotation, p.Key(), err))
	}
}

// annotate writes the replacement annotation of a pod; nil deletes it.
func (d *Drain) annotate(ctx context.Context, p *model.Pod, replacement any) error {
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID, "annotations": map[string]any{conversion.ExpectedReplacementAnnotation: replacement}}})
	if err != nil {
		return err
	}
	_, err = d.Client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the pod is deleted
	}
	return err
}

// undoSurge removes the label and annotations and, if the replicas are still those of the surge, one replica.
func (d *Drain) undoSurge(ctx context.Context, s *scalable) error {
	n, message := s.current(), fmt.Sprintf("%s keeps its %d replicas: another client changed them", s.name, s.current())
	if s.isSurged() {
		n, message = max(n-1, 0), s.name+" has its previous number of replicas"
	}
	err := s.write(ctx, n, nil, nil, nil)
	if err == nil {
		d.OnProgress(message)
	}
	return err
}

// recoverSurges handles the surges of an earlier drain of these nodes. It continues a surge if the pod is
// still on its node and the replicas are unchanged, and undoes it otherwise. It retries after conflicts.
func (d *Drain) recoverSurges(ctx context.Context) (err error) {
	for range scaleAttempts {
		if err = d.recoverSurgesOnce(ctx); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (d *Drain) recoverSurgesOnce(ctx context.Context) error {
	surged, err := d.listSurged(ctx)
	if err != nil {
		return fmt.Errorf("finding surges of an earlier drain: %w", err)
	}
	for _, s := range surged {
		p := d.watcher.View.Pod(s.meta.GetLabels()[SurgeLabel])
		switch {
		case p != nil && !p.Deleting && slices.Contains(d.Nodes, p.NodeName) && s.isSurged():
			d.machine.AdoptSurge(d.Env.Now(), p.UID)
		case slices.Contains(d.Nodes, s.meta.GetAnnotations()[SurgeNode]):
			if err := d.undoSurge(ctx, s); err != nil {
				return fmt.Errorf("%s: undoing the surge of an earlier drain: %w", s.name, err)
			}
		}
	}
	return nil
}

func (d *Drain) listSurged(ctx context.Context) (out []*scalable, err error) {
	options := metav1.ListOptions{LabelSelector: SurgeLabel}
	deployments, err1 := d.Client.AppsV1().Deployments("").List(ctx, options)
	replicaSets, err2 := d.Client.AppsV1().ReplicaSets("").List(ctx, options)
	statefulSets, err3 := d.Client.AppsV1().StatefulSets("").List(ctx, options)
	replicationControllers, err4 := d.Client.CoreV1().ReplicationControllers("").List(ctx, options)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for i := range deployments.Items {
		out = append(out, deployment(d.Client, &deployments.Items[i]))
	}
	for i := range replicaSets.Items {
		out = append(out, replicaSet(d.Client, &replicaSets.Items[i]))
	}
	for i := range statefulSets.Items {
		out = append(out, statefulSet(d.Client, &statefulSets.Items[i]))
	}
	for i := range replicationControllers.Items {
		out = append(out, replicationController(d.Client, &replicationControllers.Items[i]))
	}
	return out, nil
}

// undoTimeout bounds undoSurges.
const undoTimeout = 30 * time.Second

// undoSurges undoes the remaining surges at the end, even if ctx has ended.
func (d *Drain) undoSurges(ctx context.Context) error {
	ctx, cancel := d.Env.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	var errs []error
	for _, p := range d.machine.SurgedPods() {
		if err := d.scaleDown(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("undoing the surge of %s %s: %w; the next drain of %s undoes it", p.Owner.Kind, p.Owner.Name, err, p.NodeName))
		}
	}
	return errors.Join(errs...)
}
