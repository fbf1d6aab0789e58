package tenancy

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
)

// timeout bounds every wait.
const timeout = time.Minute

// cluster is an API server in this process.
type cluster struct {
	*apiserver.Server
	t      *testing.T
	client kubernetes.Interface
}

// newCluster starts an API server with the changed default options.
func newCluster(t *testing.T, change ...func(*apiserver.Options)) cluster {
	t.Helper()
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", t.TempDir()
	o.DisableAdmissionPlugins = []string{"ServiceAccount"} // no controller creates service accounts here
	for _, f := range change {
		f(&o)
	}
	server, err := apiserver.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-server.Ready():
	case <-time.After(timeout):
		t.Fatal("the API server is not ready after a minute")
	}
	client, err := kubernetes.NewForConfig(server.LoopbackConfig())
	if err != nil {
		t.Fatal(err)
	}
	return cluster{server, t, client}
}

// waitUntil waits until f returns an empty string. f returns what is missing.
func (c cluster) waitUntil(f func() string) {
	c.t.Helper()
	var missing string
	for end := time.Now().Add(timeout); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if missing = f(); missing == "" {
			return
		}
	}
	c.t.Fatalf("after %v: %s", timeout, missing)
}

func newPod(generateName string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: generateName}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
}
