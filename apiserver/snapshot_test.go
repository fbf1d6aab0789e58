package apiserver_test

import (
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/store"
)

// A running server returns a snapshot that contains its objects; other users than system:masters may
// not read it.
func TestSnapshotOfRunningServer(t *testing.T) {
	s := start(t)
	client := kubernetes.NewForConfigOrDie(s.LoopbackConfig())
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	from, err := client.Discovery().RESTClient().Get().AbsPath(apiserver.SnapshotPath).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	status, err := store.SaveSnapshot(from, filepath.Join(t.TempDir(), "s.db"))
	if err != nil || status.TotalKey < 50 {
		t.Errorf("snapshot %+v, %v", status, err)
	}
	other := s.LoopbackConfig()
	other.Impersonate.UserName = "a-user"
	_, err = kubernetes.NewForConfigOrDie(other).Discovery().RESTClient().Get().AbsPath(apiserver.SnapshotPath).Stream(t.Context())
	if !apierrors.IsForbidden(err) {
		t.Errorf("another user: %v, want forbidden", err)
	}
}
