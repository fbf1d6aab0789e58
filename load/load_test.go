package load

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

func csvFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	nodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n"
	podHeader  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
)

func TestReadNodes(t *testing.T) {
	nodes, err := ReadNodes(csvFile(t, nodeHeader+"n-1,96000,393216,8,G2\nn-2,32000,262144,0,\n"))
	if err != nil || len(nodes) != 2 {
		t.Fatalf("got nodes %v and error %v, want 2 nodes", nodes, err)
	}
	c := nodes[0].Status.Capacity
	if c.Cpu().MilliValue() != 96000 || c.Memory().Value() != 384<<30 || nodes[0].Labels[GPUModel] != "G2" {
		t.Errorf("got node %+v, want 96 CPUs, 384 GiB and model G2", nodes[0])
	}
	if _, ok := nodes[1].Status.Capacity[GPU]; ok {
		t.Errorf("got capacity %v of a node without GPUs, want no %s", nodes[1].Status.Capacity, GPU)
	}
}

func TestReadPods(t *testing.T) {
	file := csvFile(t, podHeader+"p-1,6000,1024,1,460,V100M16|G2|G2,LS,Running,0,9,0\np-2,1000,0,0,0,,BE,Pending,1,2,\n")
	pods, err := ReadPods(file, 0)
	if err != nil || len(pods) != 2 {
		t.Fatalf("got pods %v and error %v, want 2 pods", pods, err)
	}
	c := pods[0].Spec.Containers[0].Resources
	if gpus := c.Requests[GPU]; gpus.Value() != 1 {
		t.Errorf("request for a share of a GPU: got %s GPUs, want 1", gpus.String())
	}
	values := pods[0].Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values
	if fmt.Sprint(values) != "[G2 V100M16]" {
		t.Errorf("got models %v, want [G2 V100M16]", values)
	}
	if pods, err := ReadPods(file, 1); err != nil || len(pods) != 1 {
		t.Errorf("ReadPods with limit 1: got %d pods and error %v, want 1 pod", len(pods), err)
	}
}

func TestInvalidLists(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {"", "empty"},
		"missing column": {"sn,cpu\n", `no column "cpu_milli"`},
		"negative":       {nodeHeader + "n,-1,1,0,\n", `list.csv:2: cpu_milli: "-1"`},
		"not a number":   {nodeHeader + "n,1,1,0,\nm,1,many,0,\n", `list.csv:3: memory_mib: "many"`},
		"invalid name":   {nodeHeader + "N_1,1,1,0,\n", `sn: "N_1"`},
		"short line":     {nodeHeader + "n,1\n", "wrong number of fields"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ReadNodes(csvFile(t, tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadNodes: got error %v, want %q", err, tc.want)
			}
		})
	}
}

// TestRun runs a load on a fake API that binds odd pods at creation and reports even pods as unschedulable.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, err := ReadPods(csvFile(t, podHeader+"p-1,1000,1,0,0,,,,,,\np-2,1000,1,0,0,,,,,,\np-3,1000,1,0,0,,,,,,\n"), 0)
		if err != nil {
			t.Fatal(err)
		}
		api := fake.NewClientset()
		n := 0
		api.PrependReactor("create", "pods", func(a ktesting.Action) (bool, runtime.Object, error) {
			p := a.(ktesting.CreateAction).GetObject().(*corev1.Pod)
			if n++; n%2 == 1 {
				p.Spec.NodeName = "n"
			} else {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes"}}
			}
			return false, nil, nil
		})
		s, err := Run(t.Context(), Options{Client: api, Namespace: "default", Pods: pods, Workers: 1, Rate: 2, Name: "r", Settle: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if s.Placed != 2 || s.Pending != 1 || s.Unexplained != 0 || s.CreateSeconds < 1 {
			t.Errorf("got summary %+v, want 2 pods placed and 1 pending with a reason", s)
		}
		var b bytes.Buffer
		if err := s.Print(&b); err != nil || !strings.Contains(b.String(), "\n1        0/1 nodes") {
			t.Errorf("Print: got %q and error %v, want the reason 0/1 nodes", b.String(), err)
		}
	})
}
