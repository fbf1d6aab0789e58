package podproxy

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/nodeclient"
)

// TestStreamsOfSimulatedPodsReturnBadRequest checks that the error is a Status before the connection is upgraded.
// kubectl does not print later errors.
func TestStreamsOfSimulatedPodsReturnBadRequest(t *testing.T) {
	authority, err := pki.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Annotations: map[string]string{v1alpha1.AgentURLAnnotation: "https://127.0.0.1:1/nodes/n1"}}}
	s := Connector{Nodes: nodeclient.New(authority, func(context.Context, string) (*corev1.Node, error) { return node, nil })}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "c"}}}}
	for operation, connect := range map[string]func() error{
		"port-forward": func() error {
			_, err := s.PortForward().(*streamREST).handler(t.Context(), pod, &corev1.PodPortForwardOptions{}, nil)
			return err
		},
		"exec": func() error {
			_, err := s.Exec().(*streamREST).handler(t.Context(), pod, &corev1.PodExecOptions{}, nil)
			return err
		},
	} {
		node.Status.NodeInfo.ContainerRuntimeVersion = "simulated://1"
		if err := connect(); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `pod "p" on node "n1" is simulated: `+operation) {
			t.Errorf("%s on a simulated node: got %v, want a bad request", operation, err)
		}
		node.Status.NodeInfo.ContainerRuntimeVersion = "containerd://2"
		if err := connect(); err != nil {
			t.Errorf("%s on a real node: got %v, want no error", operation, err)
		}
	}
}
