//go:build linux

package nodeagent

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
)

// waitingNode returns a node with the embedded runtime that is not built yet.
func waitingNode(t *testing.T, o Options, objects ...runtime.Object) (*node, *fake.Clientset) {
	t.Helper()
	o.Name, o.Root, o.Log, o.Embedded, o.Address = "n1", t.TempDir(), klog.Background(), &Embedded{}, "192.0.2.9"
	if o.OnWait == nil {
		o.OnWait = func(string) {}
	}
	api := fake.NewClientset(objects...)
	n := &node{opts: o, client: api, object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}
	return n, api
}

func nodeWithRange(cidr string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	setSpecPodCIDR(n, cidr)
	return n
}

// TestNodeWaitsForPodCIDR checks that a node without a range registers as not ready, and uses the range that a
// controller sets later.
func TestNodeWaitsForPodCIDR(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notice := ""
		n, api := waitingNode(t, Options{PodCIDRTimeout: -1, OnWait: func(message string) { notice = message }})
		done := make(chan error, 1)
		go func() { done <- n.setPodCIDR(t.Context()) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		node, err := api.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c := node.Status.Conditions; len(c) != 1 || c[0].Type != corev1.NodeReady || c[0].Status != corev1.ConditionFalse || c[0].Message != agent.NoPodCIDRMessage || time.Since(c[0].LastHeartbeatTime.Time) > time.Minute {
			t.Errorf("conditions %+v, want Ready=False with a recent heartbeat", c)
		}
		if !strings.Contains(notice, "--pod-cidr") {
			t.Errorf("notice %q, want --pod-cidr in it", notice)
		}
		if err := agent.SetPodCIDR(t.Context(), api.CoreV1().Nodes().Patch, "n1", "198.18.4.0/24"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || n.opts.PodCIDR != "198.18.4.0/24" || n.object.Spec.PodCIDR != "" {
			t.Errorf("range %q, spec.podCIDR to register with %q, %v, want 198.18.4.0/24 and none", n.opts.PodCIDR, n.object.Spec.PodCIDR, err)
		}
		if saved, err := os.ReadFile(n.opts.savedPodCIDR()); err != nil || string(saved) != "198.18.4.0/24\n" {
			t.Errorf("saved range %q, %v, want 198.18.4.0/24", saved, err)
		}
	})
}

func TestSetPodCIDR(t *testing.T) {
	for name, tc := range map[string]struct {
		options             Options
		objects             []runtime.Object
		saved               string
		unreachable         bool
		want, wantErr, spec string // range, error, and spec.podCIDR to register with
	}{
		"from the Node":              {options: Options{PodCIDRTimeout: -1}, objects: []runtime.Object{nodeWithRange("198.18.1.0/24")}, saved: "198.18.9.0/24", want: "198.18.1.0/24"},
		"from the flag":              {options: Options{PodCIDR: "198.18.2.0/24", PodCIDRTimeout: -1}, want: "198.18.2.0/24", spec: "198.18.2.0/24"},
		"from the flag, Node exists": {options: Options{PodCIDR: "198.18.2.0/24", PodCIDRTimeout: -1}, objects: []runtime.Object{nodeWithRange("")}, want: "198.18.2.0/24", spec: "198.18.2.0/24"},
		"flag contradicts the Node":  {options: Options{PodCIDR: "198.18.2.0/24"}, objects: []runtime.Object{nodeWithRange("198.18.1.0/24")}, wantErr: "--pod-cidr 198.18.2.0/24: the Node has spec.podCIDR 198.18.1.0/24, which cannot change"},
		"from the last start":        {options: Options{PodCIDRTimeout: -1}, saved: "198.18.9.0/24", unreachable: true, want: "198.18.9.0/24"},
		"not allocated":              {saved: "198.18.9.0/24", want: "198.18.9.0/24", spec: "198.18.9.0/24"},
		"not allocated in time":      {options: Options{PodCIDRTimeout: time.Second}, saved: "198.18.9.0/24", want: "198.18.9.0/24", spec: "198.18.9.0/24"},
		"IPv6":                       {objects: []runtime.Object{nodeWithRange("fd00::/64")}, wantErr: `spec.podCIDR "fd00::/64": must be an IPv4 CIDR`},
		"contains a device address":  {objects: []runtime.Object{nodeWithRange("127.0.0.0/8")}, wantErr: "the network device lo of this machine has an address in it"},
		"within a device's network":  {objects: []runtime.Object{nodeWithRange("127.3.0.0/24")}, want: "127.3.0.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, api := waitingNode(t, tc.options, tc.objects...)
				if tc.saved != "" {
					if err := os.WriteFile(n.opts.savedPodCIDR(), []byte(tc.saved), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if tc.unreachable {
					api.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
				}
				err := n.setPodCIDR(t.Context())
				if tc.wantErr != "" {
					if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
						t.Errorf("setPodCIDR: %v, want %q in the error", err, tc.wantErr)
					}
					return
				}
				if err != nil || n.opts.PodCIDR != tc.want || n.object.Spec.PodCIDR != tc.spec {
					t.Errorf("range %q, spec.podCIDR to register with %q, %v, want %q and %q", n.opts.PodCIDR, n.object.Spec.PodCIDR, err, tc.want, tc.spec)
				}
				if node, err := api.CoreV1().Nodes().Get(context.Background(), "n1", metav1.GetOptions{}); err == nil && node.Spec.PodCIDR != tc.want {
					t.Errorf("spec.podCIDR of the Node %q, want %q", node.Spec.PodCIDR, tc.want)
				}
			})
		})
	}
}

// TestRangeAddress checks that the internal IP of a virtual node is the first address of its range.
func TestRangeAddress(t *testing.T) {
	n, _ := waitingNode(t, Options{rangeAddress: true}, nodeWithRange("198.18.1.0/24"))
	n.opts.Address = ""
	if err := n.setPodCIDR(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a := n.object.Status.Addresses; len(a) != 2 || a[1].Address != "198.18.1.1" {
		t.Errorf("addresses %v, want the internal IP 198.18.1.1", a)
	}
}
