package revision

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/berthproject/berth/controllers/podtemplate"
	"github.com/berthproject/berth/controllers/workload"
	"github.com/berthproject/berth/controllers/workload/workloadtest"
)

// runHistory runs a test with the history of one DaemonSet. The function sync returns the revisions after the image
// of the template is set.
func runHistory(t *testing.T, test func(s *workloadtest.Env, h *History, sync func(image string) *Revisions)) {
	t.Helper()
	var h *History
	newHistory := func(ctx context.Context, s *workloadtest.Env, factory informers.SharedInformerFactory) (err error) {
		if h, err = New(s.Clientset, factory); err != nil {
			return err
		}
		factory.Start(ctx.Done())
		cache.WaitForCacheSync(ctx.Done(), h.HasSynced)
		return nil
	}
	workloadtest.Run(t, []workloadtest.Controller{newHistory}, func(s *workloadtest.Env) {
		s.Settle(time.Second)
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: workloadtest.Namespace, UID: "owner"}}
		o := &workload.Owner{Kind: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), Object: ds, Selector: labels.SelectorFromSet(labels.Set{"app": "agent"}),
			GetLive: func(context.Context) (metav1.Object, error) { return ds, nil }}
		test(s, h, func(image string) *Revisions {
			s.Settle(time.Second)
			tpl := workloadtest.Template("agent")
			tpl.Spec.Containers[0].Image = image
			r, err := h.Sync(t.Context(), o, &tpl, appsv1.DefaultDaemonSetUniqueLabelKey, ds.Status.CollisionCount)
			if err != nil {
				t.Fatal(err)
			}
			ds.Status.CollisionCount = r.Collisions
			return r
		})
	})
}

func images(t *testing.T, r *Revisions) (out []string) {
	t.Helper()
	for _, rev := range r.All {
		tpl, err := podtemplate.TemplateOf(rev)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(rev.Revision, " ", tpl.Spec.Containers[0].Image))
	}
	return out
}

func TestOneRevisionPerTemplate(t *testing.T) {
	runHistory(t, func(s *workloadtest.Env, h *History, sync func(string) *Revisions) {
		sync("a")
		first := sync("a").Latest().Name
		sync("b")
		sync("c")
		r := sync("a")
		if got, want := images(t, r), []string{"2 b", "3 c", "4 a"}; !slices.Equal(got, want) || r.Latest().Name != first {
			t.Errorf("revisions %v, want %v", got, want)
		}
		limit := int32(0)
		if err := h.Truncate(t.Context(), r, func(rev *appsv1.ControllerRevision) bool { return rev.Revision == 2 }, &limit); err != nil {
			t.Fatal(err)
		}
		if got, want := images(t, sync("a")), []string{"2 b", "4 a"}; !slices.Equal(got, want) {
			t.Errorf("revisions %v after truncation, want %v: 2 is in use", got, want)
		}
	})
}

func TestHashCollision(t *testing.T) {
	runHistory(t, func(s *workloadtest.Env, h *History, sync func(string) *Revisions) {
		tpl := workloadtest.Template("agent")
		tpl.Spec.Containers[0].Image = "a"
		ds := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", Namespace: workloadtest.Namespace, UID: "owner"}}
		existing, err := podtemplate.Revision(ds, metav1.OwnerReference{}, &tpl, appsv1.DefaultDaemonSetUniqueLabelKey, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		existing.OwnerReferences, existing.Labels = nil, nil
		existing.Data = runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`)}
		if _, err := s.AppsV1().ControllerRevisions(workloadtest.Namespace).Create(t.Context(), existing, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r := sync("a")
		if r.Latest().Name == existing.Name || r.Collisions == nil || *r.Collisions != 1 || !podtemplate.RevisionMatches(r.Latest(), &tpl) {
			t.Errorf("revision %s after %v collisions, want a new name after 1 collision", r.Latest().Name, r.Collisions)
		}
	})
}

func TestMalformedRevision(t *testing.T) {
	_, err := podtemplate.TemplateOf(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r"}, Data: runtime.RawExtension{Raw: []byte("{")}})
	if err == nil {
		t.Error("a malformed revision was parsed, want an error")
	}
	if podtemplate.RevisionMatches(&appsv1.ControllerRevision{}, &corev1.PodTemplateSpec{}) {
		t.Error("a revision without data matches a template, want no match")
	}
}
