package apiserver_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/berthproject/berth/apiserver"
	"github.com/berthproject/berth/apiserver/auth/pki"
)

// testServer is a server in this process. stop stops it and waits until Run returns.
type testServer struct {
	*apiserver.Server
	stop func()
}

// start starts a server with the default options, except for those that change sets.
func start(t *testing.T, change ...func(*apiserver.Options)) testServer {
	t.Helper()
	o := options(t.TempDir())
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
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	select {
	case <-server.Ready():
	case <-time.After(time.Minute):
		t.Fatal("not ready after a minute")
	}
	return testServer{server, stop}
}

func clientset(t *testing.T, c *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestRestartKeepsObjects(t *testing.T) {
	dir := t.TempDir()
	inDir := func(o *apiserver.Options) { o.DataDir = dir }
	first := start(t, inDir)
	client := clientset(t, first.LoopbackConfig())
	created, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apiserver.New(t.Context(), options(dir)); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("second server in the same data directory: %v, want in use by another process", err)
	}
	first.stop()
	second := start(t, inDir)
	stored, err := clientset(t, second.LoopbackConfig()).CoreV1().ConfigMaps("default").Get(t.Context(), "m", metav1.GetOptions{})
	if err != nil || stored.UID != created.UID {
		t.Errorf("object after a restart: got %v and error %v, want the same UID", stored, err)
	}
}

// options returns the default options for a server with a free port and a data directory.
func options(dir string) apiserver.Options {
	o := apiserver.DefaultOptions()
	o.Listen, o.DataDir = "127.0.0.1:0", dir
	return o
}

func TestPortInUseIsReported(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := options(t.TempDir())
	o.Listen = l.Addr().String()
	if _, err := apiserver.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the port is in use") {
		t.Errorf("got %v, want an error about a port in use", err)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for name, change := range map[string]func(*apiserver.Options){
		"--listen":                    func(o *apiserver.Options) { o.Listen = "nowhere" },
		"--service-cluster-ip-range":  func(o *apiserver.Options) { o.ServiceClusterIPRange = "10.96" },
		"--disable-admission-plugins": func(o *apiserver.Options) { o.DisableAdmissionPlugins = []string{"Frob"} },
		"--etcd-servers":              func(o *apiserver.Options) { o.EtcdCAFile = "ca.pem" },
		`--etcd-servers "nonsense"`:   func(o *apiserver.Options) { o.EtcdServers = []string{"nonsense"} },
	} {
		o := options(t.TempDir())
		change(&o)
		if _, err := apiserver.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names the flag", name, err)
		}
	}
}

func TestAccessRequiresCredential(t *testing.T) {
	server := start(t)
	anonymous := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for path, want := range map[string]int{"/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 200, "/api": 403, "/api/v1/pods": 403, "/metrics": 403, "/": 403} {
		resp, err := anonymous.Get("https://" + server.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("anonymous %s: got status %d, want %d", path, resp.StatusCode, want)
		}
	}
	admin, err := clientcmd.BuildConfigFromFlags("", server.KubeconfigPath())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientset(t, admin).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("list with the admin kubeconfig: %v, want no error", err)
	}
	forged := rest.AnonymousClientConfig(admin)
	forged.BearerToken = "forged"
	if _, err := clientset(t, forged).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), "Unauthorized") && !strings.Contains(err.Error(), "provide credentials") {
		t.Errorf("list with a forged token: %v, want unauthorized", err)
	}
}

// TestBindingChecksPreconditions checks that a binding is rejected if the pod is not the one that the scheduler
// read.
func TestBindingChecksPreconditions(t *testing.T) {
	server := start(t, withoutServiceAccounts)
	pods := clientset(t, server.LoopbackConfig()).CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "app:1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bind := func(uid types.UID, version string) error {
		return pods.Bind(t.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: uid, ResourceVersion: version},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "n"},
		}, metav1.CreateOptions{})
	}
	if err := bind("another", ""); !apierrors.IsConflict(err) {
		t.Errorf("binding with another UID: %v, want a conflict", err)
	}
	if err := bind("", "1"); !apierrors.IsConflict(err) {
		t.Errorf("binding with another resourceVersion: %v, want a conflict", err)
	}
	if err := bind(pod.UID, pod.ResourceVersion); err != nil {
		t.Errorf("binding with the UID and resourceVersion of the pod: %v, want no error", err)
	}
}

// TestTooLargeObjectIsClientError checks that an object that is too large for etcd, but not for a request, is a
// client error.
func TestTooLargeObjectIsClientError(t *testing.T) {
	server := start(t, withoutServiceAccounts)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "app:1", Env: []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 1600000)}},
	}}}}
	_, err := clientset(t, server.LoopbackConfig()).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if !apierrors.IsRequestEntityTooLargeError(err) {
		t.Errorf("got %v, want 413", err)
	}
}

// TestSlowBodiesHoldNoSeat checks that a request whose body does not end holds no seat, so the server handles
// other requests. The client must not be in system:masters, which is exempt from the limits.
func TestSlowBodiesHoldNoSeat(t *testing.T) {
	server := start(t, func(o *apiserver.Options) { o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight = 1, 1 })
	client := ordinaryClient(t, server, "joe")
	url := "https://" + server.Address() + "/api/v1/namespaces/default/configmaps"
	post := func(body io.Reader) int {
		resp, err := client.Post(url, "application/json", body)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"m-"}}`
	pollUntil(t, http.StatusCreated, func() int { return post(strings.NewReader(object)) })
	for range 20 {
		body, writer := io.Pipe()
		done := make(chan struct{})
		go func() { post(body); close(done) }()
		t.Cleanup(func() { writer.Close(); <-done })
		// More than the client buffers, so that it sends the request.
		_, _ = writer.Write([]byte(`{"kind":` + strings.Repeat(" ", 1<<18)))
	}
	for range 5 {
		if code := post(strings.NewReader(object)); code != http.StatusCreated {
			t.Errorf("create while 20 other bodies are incomplete: got status %d, want 201", code)
		}
	}
}

// ordinaryClient returns a client of a user that is cluster-admin by a role binding, not by group.
func ordinaryClient(t *testing.T, server testServer, name string) *http.Client {
	t.Helper()
	cert, key, err := server.Authority().ClientPEM(pki.Identity{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.Authority().CAPEM())
	_, err = clientset(t, server.LoopbackConfig()).RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}}
}

// pollUntil calls f until it returns want, for at most a minute.
func pollUntil(t *testing.T, want int, f func() int) {
	t.Helper()
	var got int
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if got = f(); got == want {
			return
		}
	}
	t.Fatalf("got %d for a minute, want %d", got, want)
}

// TestKubernetesEndpointsFollowServer checks that a server adds its address to the endpoints and to its
// certificate. It removes the endpoint when it stops.
func TestKubernetesEndpointsFollowServer(t *testing.T) {
	dir := t.TempDir()
	for _, ip := range []string{"192.0.2.1", "192.0.2.2"} {
		s := start(t, func(o *apiserver.Options) { o.DataDir, o.AdvertiseAddress = dir, ip })
		client := clientset(t, s.LoopbackConfig())
		slice, err := client.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
		for apierrors.IsNotFound(err) {
			slice, err = client.DiscoveryV1().EndpointSlices("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(slice.Endpoints) != 1 || slice.Endpoints[0].Addresses[0] != ip || !strings.HasSuffix(s.Address(), fmt.Sprintf(":%d", *slice.Ports[0].Port)) {
			t.Errorf("got endpoints %+v and ports %+v, want %s and the port of %s", slice.Endpoints, slice.Ports, ip, s.Address())
		}
		conn, err := tls.Dial("tcp", s.Address(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.ConnectionState().PeerCertificates[0].VerifyHostname(ip); err != nil {
			t.Errorf("the certificate does not have the address: %v", err)
		}
		_ = conn.Close()
		s.stop()
	}
}

func TestMetricsHaveBuildInfo(t *testing.T) {
	s := start(t)
	body, err := clientset(t, s.LoopbackConfig()).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nkubernetes_build_info{", "git_version=\"" + apiserver.KubernetesVersion + "\"", "\nkubernetes_feature_enabled{"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("/metrics has no %q", want)
		}
	}
}
