package history

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/berthproject/berth/controllers/displacementrecords"
	"github.com/berthproject/berth/internal/journal"
)

// Source locates displacement records.
type Source struct {
	Client    kubernetes.Interface // nil: the API is not read
	Journal   string               // directory; empty: no journal is read
	Namespace string               // empty: all namespaces
	Pod       string               // name; empty: all pods
}

// Read returns one displacement per pod, newest first. malformed has the errors of malformed lines
// of the journal. It reads the API first, which authenticates the user.
func (s *Source) Read(ctx context.Context) (list []*journal.Displacement, malformed []error, err error) {
	var records []*journal.Displacement
	if s.Client != nil {
		if records, err = s.readAPI(ctx); err != nil {
			return nil, nil, err
		}
	}
	if s.Journal != "" {
		if list, malformed, err = journal.Read(s.Journal); err != nil {
			return nil, nil, err
		}
	}
	list = append(list, records...)
	var out []*journal.Displacement
	for _, d := range list {
		if (s.Namespace == "" || d.Pod.Namespace == s.Namespace) && (s.Pod == "" || d.Pod.Name == s.Pod) {
			out = append(out, d)
		}
	}
	return journal.Merge(out), malformed, nil
}

// readAPI reads records from events and pods.
func (s *Source) readAPI(ctx context.Context) (out []*journal.Displacement, err error) {
	queries := []metav1.ListOptions{{LabelSelector: journal.Label}}
	if s.Pod != "" {
		queries = []metav1.ListOptions{{FieldSelector: fields.Set{"involvedObject.kind": "Pod", "involvedObject.name": s.Pod}.String()}}
	} else {
		for reason := range upstreamEvents {
			queries = append(queries, metav1.ListOptions{FieldSelector: fields.Set{"involvedObject.kind": "Pod", "reason": reason}.String()})
		}
	}
	for _, q := range queries {
		err := forEachObject(ctx, q, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return s.Client.CoreV1().Events(s.Namespace).List(ctx, o)
		}, func(o runtime.Object) {
			if d := fromEvent(o.(*corev1.Event)); d != nil {
				out = append(out, d)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("listing events: %w", err)
		}
	}
	q := metav1.ListOptions{}
	if s.Pod != "" {
		q.FieldSelector = fields.Set{"metadata.name": s.Pod}.String()
	}
	err = forEachObject(ctx, q, func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return s.Client.CoreV1().Pods(s.Namespace).List(ctx, o)
	}, func(o runtime.Object) {
		if d := displacementrecords.Reconstruct(o.(*corev1.Pod)); d != nil {
			out = append(out, d)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return out, nil
}

// forEachObject calls f for each object of a paged list.
func forEachObject(ctx context.Context, o metav1.ListOptions, list pager.ListPageFunc, f func(runtime.Object)) error {
	err := pager.New(list).EachListItem(ctx, o, func(o runtime.Object) error {
		f(o)
		return nil
	})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w (use --kubeconfig to select a user with permission)", err)
	}
	return err
}
