package componentstatus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/berthproject/berth/apiserver/registry"
	"github.com/berthproject/berth/apiserver/tables"
)

// checkTimeout bounds the check of one component.
const checkTimeout = 5 * time.Second

var resource = corev1.Resource("componentstatuses")

type storage struct {
	rest.TableConvertor
	checks *Checks
}

var (
	_ rest.Getter               = storage{}
	_ rest.Lister               = storage{}
	_ rest.Scoper               = storage{}
	_ rest.ShortNamesProvider   = storage{}
	_ rest.SingularNameProvider = storage{}
)

// Storage returns the storage of componentstatuses.
func Storage(checks *Checks) rest.Storage {
	table, _ := tables.For(resource)
	return storage{TableConvertor: registry.NewTableConvertor(table.Columns, table.Row), checks: checks}
}

func (storage) New() runtime.Object     { return &corev1.ComponentStatus{} }
func (storage) NewList() runtime.Object { return &corev1.ComponentStatusList{} }
func (storage) Destroy()                {}
func (storage) NamespaceScoped() bool   { return false }
func (storage) GetSingularName() string { return "componentstatus" }
func (storage) ShortNames() []string    { return []string{"cs"} }

// Get checks one component.
func (s storage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	check, ok := s.checks.get(name)
	if !ok {
		return nil, apierrors.NewNotFound(resource, name)
	}
	return runCheck(ctx, name, check), nil
}

// List checks the selected components concurrently.
func (s storage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	names, err := selectNames(s.checks.names(), options)
	if err != nil {
		return nil, err
	}
	list := &corev1.ComponentStatusList{Items: make([]corev1.ComponentStatus, len(names))}
	var wg sync.WaitGroup
	for i, name := range names {
		check, _ := s.checks.get(name)
		wg.Go(func() { list.Items[i] = *runCheck(ctx, name, check) })
	}
	wg.Wait()
	return list, nil
}

// selectNames returns the names that the options select, sorted. The objects have no labels.
func selectNames(names []string, options *internalversion.ListOptions) ([]string, error) {
	slices.Sort(names)
	if options == nil {
		return names, nil
	}
	if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set{}) {
		return nil, nil
	}
	if options.FieldSelector == nil {
		return names, nil
	}
	for _, r := range options.FieldSelector.Requirements() {
		if r.Field != "metadata.name" {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("field selector %q of componentstatuses: must be metadata.name", r.Field))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return !options.FieldSelector.Matches(fields.Set{"metadata.name": name})
	}), nil
}

// runCheck returns the status of a component. The message of an unhealthy component is the error, as in Kubernetes.
func runCheck(ctx context.Context, name string, check Check) *corev1.ComponentStatus {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	condition := corev1.ComponentCondition{Type: corev1.ComponentHealthy, Status: corev1.ConditionTrue, Message: "ok"}
	if err := check(ctx); err != nil {
		condition.Status, condition.Message = corev1.ConditionFalse, err.Error()
	}
	return &corev1.ComponentStatus{ObjectMeta: metav1.ObjectMeta{Name: name}, Conditions: []corev1.ComponentCondition{condition}}
}
