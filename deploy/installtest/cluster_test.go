package installtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// timeout is how long the tests wait for a condition.
const timeout = 3 * time.Minute

// cluster is a running `berth up` with simulated nodes.
type cluster struct {
	kubeconfig string
	config     *rest.Config
	client     kubernetes.Interface
}

// start runs `berth up` until the test ends. BERTH_BINARY names the binary; without it the test builds one.
func start(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	binary := os.Getenv("BERTH_BINARY")
	if binary == "" {
		binary = filepath.Join(dir, "berth")
		build := exec.Command("go", "build", "-o", binary, "./cmd/berth")
		build.Dir = "../.."
		if message, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building berth: %v\n%s", err, message)
		}
	}
	data := filepath.Join(dir, "data")
	up := exec.Command(binary, "up", "--data-dir", data, "--listen", "127.0.0.1:0")
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM)
		_ = up.Wait()
	})
	c := &cluster{kubeconfig: filepath.Join(data, "kubeconfig")}
	eventually(t, "berth up serves", func(ctx context.Context) (err error) {
		if c.config, err = clientcmd.BuildConfigFromFlags("", c.kubeconfig); err != nil {
			return err
		}
		if c.client, err = kubernetes.NewForConfig(c.config); err != nil {
			return err
		}
		_, err = c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	return c
}

// eventually calls condition until it returns nil.
func eventually(t *testing.T, what string, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting until %s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
