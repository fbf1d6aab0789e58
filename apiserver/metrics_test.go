package apiserver_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestMetricsOfKubeAPIServerAreExported checks that the API server exports the metrics that dashboards of
// kube-apiserver read.
func TestMetricsOfKubeAPIServerAreExported(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(start(t).LoopbackConfig())
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("x"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	out, err := client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"kubernetes_build_info{", "kubernetes_feature_enabled{", `apiserver_storage_size_bytes{storage_cluster_id="etcd-0"}`, "apiserver_storage_objects{",
		`apiserver_admission_controller_admission_duration_seconds_count{name="ResourceQuota",operation="CREATE"`,
		`apiserver_admission_step_admission_duration_seconds_count{operation="CREATE"`,
	} {
		if !strings.Contains(string(out), "\n"+name) {
			t.Errorf("metric %s is missing", name)
		}
	}
}
