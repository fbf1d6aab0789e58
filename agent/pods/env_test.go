package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "1", "B": "$(A)", "C.d": "dot"}
	lookup := func(n string) (string, bool) { v, ok := values[n]; return v, ok }
	for in, want := range map[string]string{
		"":                "",
		"$(A)":            "1",
		"x$(A)y$(A)":      "x1y1",
		"$(B)":            "$(A)", // not expanded recursively
		"$$(A)":           "$(A)", // escaped
		"$$$(A)":          "$1",
		"$(NONE)":         "$(NONE)",
		"$(C.d)":          "dot",
		"$A":              "$A",
		"$":               "$",
		"a$":              "a$",
		"$(A":             "$(A",
		"$()":             "$()",
		"cost: 5$ (A)":    "cost: 5$ (A)",
		"$$$$(A)":         "$$(A)",
		"$(A)$(NONE)$(A)": "1$(NONE)1",
	} {
		if got := expand(in, lookup); got != want {
			t.Errorf("expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"$(A)", "$$(A)", "$(", "$$", "a$(B)c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !strings.Contains(s, "$") && expand(s, func(string) (string, bool) { return "x", true }) != s {
			t.Errorf("expand changed %q, which has no references", s)
		}
		if got := expand(s, func(string) (string, bool) { return "", false }); !strings.Contains(s, "$$") && got != s {
			t.Errorf("expand(%q) = %q without variables, want it unchanged", s, got)
		}
	})
}

// newEnvHarness returns a harness with an API server that has a config map, a secret and services.
func newEnvHarness(t *testing.T) *harness {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "default", Name: name} }
	svc := func(name, ip string, ports ...corev1.ServicePort) *corev1.Service {
		return &corev1.Service{ObjectMeta: meta(name), Spec: corev1.ServiceSpec{ClusterIP: ip, Ports: ports}}
	}
	client := fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: meta("cm"), Data: map[string]string{"K": "from-cm", "SHARED": "cm", "no=name": "x"}},
		&corev1.Secret{ObjectMeta: meta("s"), Data: map[string][]byte{"P": []byte("hidden")}},
		svc("kubernetes", "10.0.0.1", corev1.ServicePort{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP}),
		svc("my-db", "10.0.0.2", corev1.ServicePort{Port: 5432, Protocol: corev1.ProtocolTCP}), svc("headless", "None", corev1.ServicePort{Port: 1}))
	h := newHarness(t, func(o *Options) { o.Client = client })
	if !cache.WaitForCacheSync(t.Context().Done(), h.runner.services.synced) {
		t.Fatal("the service informer did not sync")
	}
	return h
}

func TestEnvironment(t *testing.T) {
	h := newEnvHarness(t)
	cmRef := func(name, key string, optional bool) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key, Optional: &optional}}
	}
	pod := testPod("web", "a")
	pod.Labels = map[string]string{"app": "web"}
	pod.Status.PodIP = "10.1.1.1"
	c := &pod.Spec.Containers[0]
	c.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}
	c.EnvFrom = []corev1.EnvFromSource{{Prefix: "X_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
	c.Env = []corev1.EnvVar{
		{Name: "PLAIN", Value: "v"}, {Name: "REF", Value: "$(PLAIN)/$(X_K)/$(MY_DB_SERVICE_HOST)/$(LATER)"}, {Name: "LATER", Value: "l"},
		{Name: "KEY", ValueFrom: cmRef("cm", "K", false)}, {Name: "NOKEY", ValueFrom: cmRef("cm", "none", true)}, {Name: "NOMAP", ValueFrom: cmRef("none", "K", true)},
		{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}},
		{Name: "MEM", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}},
		{Name: "X_SHARED", Value: "override"}, {Name: "KUBERNETES_SERVICE_HOST", Value: "custom"},
	}
	e, err := h.runner.makeEnvironment(t.Context(), pod, c)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range e.keyValues() {
		got[v.Key] = string(v.Value)
	}
	for name, want := range map[string]string{
		"PLAIN": "v", "REF": "v/from-cm/10.0.0.2/$(LATER)", "KEY": "from-cm", "X_K": "from-cm", "P": "hidden", "IP": "10.1.1.1", "CPU": "2",
		"MEM": fmt.Sprint(8 << 30), "X_SHARED": "override", "KUBERNETES_SERVICE_HOST": "custom", "KUBERNETES_SERVICE_PORT_HTTPS": "443",
		"MY_DB_SERVICE_PORT": "5432", "MY_DB_PORT": "tcp://10.0.0.2:5432", "MY_DB_PORT_5432_TCP_ADDR": "10.0.0.2", "MY_DB_PORT_5432_TCP_PROTO": "tcp",
	} {
		if got[name] != want {
			t.Errorf("%s=%q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"NOKEY", "NOMAP", "X_no=name", "HEADLESS_SERVICE_HOST"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s=%q, want it unset", name, v)
		}
	}
	serviceLinks := false
	pod.Spec.EnableServiceLinks = &serviceLinks
	if e, err = h.runner.makeEnvironment(t.Context(), pod, c); err != nil || e.services["MY_DB_SERVICE_HOST"] != "" || e.services["KUBERNETES_SERVICE_HOST"] == "" {
		t.Errorf("without service links: %v, %v, want only the variables of the API server", e.services, err)
	}
}

// TestStaticPodWithoutServices checks that only static pods start before the services are read.
func TestStaticPodWithoutServices(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("list", "services", func(clienttesting.Action) (bool, k8sruntime.Object, error) {
		return true, nil, errors.New("unavailable")
	})
	h := newHarness(t, func(o *Options) { o.Client = client })
	pod := testPod("web", "a")
	if _, err := h.runner.makeEnvironment(t.Context(), pod, &pod.Spec.Containers[0]); err == nil {
		t.Error("ordinary pod: no error, want it to wait for the services")
	}
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
	if _, err := h.runner.makeEnvironment(t.Context(), pod, &pod.Spec.Containers[0]); err != nil {
		t.Errorf("static pod: %v, want no error", err)
	}
}

func TestEnvironmentErrors(t *testing.T) {
	h := newEnvHarness(t)
	from := func(s corev1.EnvVarSource) corev1.Container {
		return corev1.Container{Name: "a", Env: []corev1.EnvVar{{Name: "V", ValueFrom: &s}}}
	}
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	for want, c := range map[string]corev1.Container{
		`configmap "none" not found`:                     from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("none"), Key: "K"}}),
		`couldn't find key none in ConfigMap default/cm`: from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref("cm"), Key: "none"}}),
		`secret "none" not found`:                        from(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("none"), Key: "K"}}),
		`couldn't find key none in Secret default/s`:     from(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: ref("s"), Key: "none"}}),
		`fieldPath "status.phase"`:                       from(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.phase"}}),
		`env V: valueFrom: unsupported source`:           from(corev1.EnvVarSource{}),
		`secret "missing" not found`:                     {Name: "a", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("missing")}}}},
	} {
		pod := testPod("web")
		pod.Spec.Containers = []corev1.Container{c}
		if _, err := h.runner.makeEnvironment(context.Background(), pod, &pod.Spec.Containers[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestMissingConfigMapIsRetried checks the waiting reason and the event of a container without its ConfigMap, and that
// the container starts when the ConfigMap exists.
func TestMissingConfigMapIsRetried(t *testing.T) {
	h := newEnvHarness(t)
	pod := testPod("web", "a")
	pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}
	h.admit(pod)
	h.waitForStates(pod, "a=starting(CreateContainerConfigError)")
	h.waitUntil("the event Failed", func() bool { return slices.Contains(h.events, `web/a Failed: Error: configmap "late" not found`) })
	if _, err := h.opts.Client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.waitForStates(pod, "a=running")
}
