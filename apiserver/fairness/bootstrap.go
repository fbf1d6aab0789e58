package fairness

import (
	"context"
	"errors"
	"fmt"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// syncInterval is the time between two calls of Bootstrap.
	syncInterval = time.Minute
	// bootstrapWorkers is the number of concurrent writes. Sequential writes would delay the start by
	// about twenty disk syncs. Concurrent writes share a disk sync.
	bootstrapWorkers = 16
)

// Run calls Bootstrap every minute until ctx is done.
func Run(ctx context.Context, client kubernetes.Interface) {
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := Bootstrap(ctx, client); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to maintain priority levels and flow schemas; retrying", "interval", syncInterval)
		}
	}
}

// Bootstrap creates missing priority levels and flow schemas of Kubernetes and Berth. It updates mandatory objects
// and those with automatic updates. It deletes automatically updated objects that only an earlier release defined.
func Bootstrap(ctx context.Context, client kubernetes.Interface) error {
	levels := client.FlowcontrolV1().PriorityLevelConfigurations()
	desiredLevels := map[string]desiredObject[*flowcontrolv1.PriorityLevelConfiguration]{}
	addAll(desiredLevels, true, bootstrap.MandatoryPriorityLevelConfigurations...)
	addAll(desiredLevels, false, bootstrap.SuggestedPriorityLevelConfigurations...)
	currentLevels, err := levels.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing priority levels: %w", err)
	}
	err = reconcile(ctx, "priority level", levels, desiredLevels, pointers(currentLevels.Items), func(into, from *flowcontrolv1.PriorityLevelConfiguration) bool {
		spec := from.Spec.DeepCopy()
		if spec.Exempt != nil && into.Spec.Exempt != nil {
			spec.Exempt = into.Spec.Exempt // users may change the shares of the exempt level
		}
		equal := equality.Semantic.DeepEqual(into.Spec, *spec)
		into.Spec = *spec
		return equal
	})
	schemas := client.FlowcontrolV1().FlowSchemas()
	desiredSchemas := map[string]desiredObject[*flowcontrolv1.FlowSchema]{}
	addAll(desiredSchemas, true, bootstrap.MandatoryFlowSchemas...)
	addAll(desiredSchemas, false, append(berthFlowSchemas(), bootstrap.SuggestedFlowSchemas...)...)
	currentSchemas, listErr := schemas.List(ctx, metav1.ListOptions{})
	if listErr != nil {
		return errors.Join(err, fmt.Errorf("listing flow schemas: %w", listErr))
	}
	return errors.Join(err, reconcile(ctx, "flow schema", schemas, desiredSchemas, pointers(currentSchemas.Items), func(into, from *flowcontrolv1.FlowSchema) bool {
		equal := equality.Semantic.DeepEqual(into.Spec, from.Spec)
		into.Spec = *from.Spec.DeepCopy()
		return equal
	}))
}

// desiredObject is an object that Bootstrap creates and updates.
type desiredObject[T any] struct {
	object    T
	mandatory bool // always updated automatically
}

type object[T any] interface {
	metav1.Object
	DeepCopy() T
}

func addAll[T object[T]](to map[string]desiredObject[T], mandatory bool, objects ...T) {
	for _, o := range objects {
		to[o.GetName()] = desiredObject[T]{o, mandatory}
	}
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

// writer is the part of a typed client that reconcile uses.
type writer[T any] interface {
	Create(ctx context.Context, object T, options metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, options metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// reconcile makes the current objects equal to the desired ones. setSpec copies the specification
// of from to into and reports whether both were equal.
func reconcile[T object[T]](ctx context.Context, kind string, client writer[T], desired map[string]desiredObject[T], current []T, setSpec func(into, from T) bool) error {
	var tasks []func() error
	missing := map[string]bool{}
	for name := range desired {
		missing[name] = true
	}
	for _, o := range current {
		d, ok := desired[o.GetName()]
		delete(missing, o.GetName())
		switch {
		case !ok && o.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey] == "true":
			tasks = append(tasks, func() error {
				return ignore(client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}), apierrors.IsNotFound)
			})
		case ok && (d.mandatory || isAutoUpdated(o)):
			changed := o.DeepCopy()
			if setSpec(changed, d.object) {
				continue
			}
			tasks = append(tasks, func() error {
				_, err := client.Update(ctx, changed, metav1.UpdateOptions{})
				return ignore(err, apierrors.IsConflict) // another server wrote the object
			})
		}
	}
	for name := range missing {
		tasks = append(tasks, func() error {
			_, err := client.Create(ctx, desired[name].object.DeepCopy(), metav1.CreateOptions{})
			return ignore(err, apierrors.IsAlreadyExists)
		})
	}
	errs := make([]error, len(tasks))
	workqueue.ParallelizeUntil(ctx, bootstrapWorkers, len(tasks), func(i int) { errs[i] = tasks[i]() })
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("writing a %s: %w", kind, err)
	}
	return nil
}

// isAutoUpdated reports whether the server updates an object: if its annotation allows it or, without
// the annotation, if the object was never changed.
func isAutoUpdated(o metav1.Object) bool {
	if value, ok := o.GetAnnotations()[flowcontrolv1.AutoUpdateAnnotationKey]; ok {
		return value == "true"
	}
	return o.GetGeneration() == 1
}

// ignore returns nil if matches reports true for err, and err otherwise.
func ignore(err error, matches func(error) bool) error {
	if matches(err) {
		return nil
	}
	return err
}
