package nodeapi_test

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/server"
	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

// testCluster is an API server and the agents of nodes in this process. They use TLS.
type testCluster struct {
	t      *testing.T
	server *apiserver.Server
	admin  *rest.Config
	client kubernetes.Interface
}

func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", t.TempDir()
	o.DisableAdmissionPlugins = []string{"ServiceAccount"}
	apiServer, err := apiserver.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- apiServer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-apiServer.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the API server is not ready after a minute")
	}
	admin, err := clientcmd.BuildConfigFromFlags("", apiServer.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	admin.QPS = -1
	c := &testCluster{t: t, server: apiServer, admin: admin}
	c.client = c.impersonate("", admin)
	return c
}

// impersonate returns a client with config that impersonates a user, or none if user is empty.
func (c *testCluster) impersonate(user string, config *rest.Config) kubernetes.Interface {
	c.t.Helper()
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = user
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		c.t.Fatal(err)
	}
	return client
}

// credential returns a certificate of an identity, for clients and servers, and a client that uses it.
func (c *testCluster) credential(id pki.Identity) (tls.Certificate, kubernetes.Interface) {
	c.t.Helper()
	certPEM, keyPEM, err := c.server.Authority().ClientPEM(id)
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := server.ServingCertificate("any", certPEM, keyPEM)
	if err != nil {
		c.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.admin)
	config.CertData, config.KeyData = certPEM, keyPEM
	return cert, c.impersonate("", config)
}

// agent serves nodes with an identity until the test ends and returns its address.
func (c *testCluster) agent(id pki.Identity, nodes ...*server.Node) *net.TCPAddr {
	c.t.Helper()
	cert, client := c.credential(id)
	listener, err := server.Listen("127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	s, err := server.New(server.Options{Listener: listener, Certificate: cert, ClientCA: c.server.Authority().CAPEM(), Client: client, Nodes: nodes, Log: klog.Background()})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			c.t.Error(err)
		}
	})
	return listener.Addr().(*net.TCPAddr)
}

// node creates a Node whose agent has the address. The node has no agent port if address is nil.
func (c *testCluster) node(name string, address *net.TCPAddr, annotations map[string]string) {
	c.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations, Labels: map[string]string{"name": name}}}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}
	n.Status.Allocatable = n.Status.Capacity
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "nowhere.invalid"}, {Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	if address != nil {
		n.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(address.Port)
	}
	if _, err := c.client.CoreV1().Nodes().Create(c.t.Context(), n, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *testCluster) pod(name, node string, containers ...string) *corev1.Pod {
	c.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PodSpec{NodeName: node}}
	for _, container := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: container, Image: "img"})
	}
	pods := c.client.CoreV1().Pods("default")
	p, err := pods.Create(c.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	p.Status.Phase = corev1.PodRunning
	if p, err = pods.UpdateStatus(c.t.Context(), p, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	return p
}

// startContainer makes the runtime run a container of a pod and returns its ID.
func (s *streamingRuntime) startContainer(t *testing.T, p *corev1.Pod, container string, attempt uint32) string {
	t.Helper()
	logs := filepath.Join(t.TempDir(), "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"io.kubernetes.pod.uid": string(p.UID), "io.kubernetes.container.name": container}
	config := &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: p.Name, Namespace: p.Namespace, Uid: string(p.UID), Attempt: attempt}, LogDirectory: logs, Labels: labels}
	sandbox, err := s.RunPodSandbox(t.Context(), config, "")
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.CreateContainer(t.Context(), sandbox, &cri.ContainerConfig{Metadata: &cri.ContainerMetadata{Name: container, Attempt: attempt},
		Image: &cri.ImageSpec{Image: "img"}, LogPath: container + ".log", Labels: labels}, config)
	if err == nil {
		err = s.StartContainer(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// podUsageSummary returns a function that returns a summary of a node. The node, each pod and its first
// container use nanoCores of CPU and bytes of memory.
func podUsageSummary(node string, nanoCores, bytes uint64, pods ...*corev1.Pod) func(context.Context) (*stats.Summary, error) {
	return func(context.Context) (*stats.Summary, error) {
		now := metav1.Now()
		cpu := &stats.CPUStats{Time: now, UsageNanoCores: ptr.To(nanoCores), UsageCoreNanoSeconds: ptr.To(nanoCores * 100)}
		memory := &stats.MemoryStats{Time: now, WorkingSetBytes: ptr.To(bytes)}
		s := &stats.Summary{Node: stats.NodeStats{NodeName: node, CPU: cpu, Memory: memory, Fs: &stats.FsStats{Time: now}}}
		for _, p := range pods {
			s.Pods = append(s.Pods, stats.PodStats{PodRef: stats.PodReference{Name: p.Name, Namespace: p.Namespace, UID: string(p.UID)}, CPU: cpu, Memory: memory,
				Containers: []stats.ContainerStats{{Name: p.Spec.Containers[0].Name, StartTime: now, CPU: cpu, Memory: memory}}})
		}
		return s, nil
	}
}
