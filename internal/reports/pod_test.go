package reports

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/internal/settings"
)

// TestMissingPod checks that the error names the namespaces that have a pod of this name.
func TestMissingPod(t *testing.T) {
	s, err := settings.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	var pods []runtime.Object
	for _, key := range []string{"shop/web", "d/db", "c/db", "b/db", "a/db"} {
		namespace, name, _ := strings.Cut(key, "/")
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(key)}, Spec: corev1.PodSpec{SchedulerName: "default-scheduler"}})
	}
	for name, want := range map[string]string{
		"default/web":   "pod default/web: not found among 5 pods; namespaces with a pod of this name: shop",
		"default/db":    "pod default/db: not found among 5 pods; namespaces with a pod of this name: a, b, c, ...",
		"default/cache": "pod default/cache: not found among 5 pods",
	} {
		if _, err := ExplainPod(s, pods, name, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("pod %s: got error %v, want %q", name, err, want)
		}
	}
}
