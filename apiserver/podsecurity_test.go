package apiserver_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/apiserver"
)

// recordedWarnings collects the warnings of responses.
type recordedWarnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *recordedWarnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *recordedWarnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := w.texts
	w.texts = nil
	return texts
}

// clientWithWarnings returns a client and the warnings that it receives.
func clientWithWarnings(t *testing.T, server testServer) (kubernetes.Interface, *recordedWarnings) {
	t.Helper()
	config, warnings := server.LoopbackConfig(), &recordedWarnings{}
	config.WarningHandler, config.WarningHandlerWithContext = nil, warnings
	return clientset(t, config), warnings
}

func namespaceWithLabels(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// hostPathPod returns a pod that mounts the root directory of its node.
func hostPathPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i", VolumeMounts: []corev1.VolumeMount{{Name: "root", MountPath: "/host"}}}},
		Volumes:    []corev1.Volume{{Name: "root", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}},
	}}
}

// TestPodSecurityRejectsAndWarns checks that a pod that violates the level of its namespace is rejected as soon as
// the namespace is labeled. Workloads and levels that are not enforced return warnings.
func TestPodSecurityRejectsAndWarns(t *testing.T) {
	client, warnings := clientWithWarnings(t, start(t, withoutServiceAccounts))
	for name, level := range map[string]string{"tenant": "enforce", "warned": "warn"} {
		labels := map[string]string{"pod-security.kubernetes.io/" + level: "restricted"}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespaceWithLabels(name, labels), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := client.CoreV1().Pods("tenant").Create(t.Context(), hostPathPod("p"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `violates PodSecurity "restricted:latest"`) || !strings.Contains(err.Error(), `volume "root" uses restricted volume type "hostPath"`) {
		t.Errorf("pod with hostPath in a restricted namespace: %v, want forbidden", err)
	}
	expectWarning := func(object, text string) {
		t.Helper()
		if got := warnings.take(); !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, text) }) {
			t.Errorf("%s: got warnings %q, want one that contains %q", object, got, text)
		}
	}
	warnings.take()
	if _, err := client.CoreV1().Pods("warned").Create(t.Context(), hostPathPod("p"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectWarning("pod", `would violate PodSecurity "restricted:latest"`)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: hostPathPod("").Spec}}}
	if _, err := client.AppsV1().Deployments("warned").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectWarning("Deployment", `would violate PodSecurity "restricted:latest"`)
	relabeled := namespaceWithLabels("warned", map[string]string{"pod-security.kubernetes.io/enforce": "baseline"})
	pollUntil(t, 1, func() int { // the pod reaches the informer of the plugin
		if _, err := client.CoreV1().Namespaces().Update(t.Context(), relabeled, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(warnings.take(), `p: hostPath volumes`) {
			return 1
		}
		return 0
	})
	_, err = client.CoreV1().Namespaces().Create(t.Context(), namespaceWithLabels("bad", map[string]string{"pod-security.kubernetes.io/enforce": "strict"}), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "must be one of privileged, baseline, restricted") {
		t.Errorf("namespace with an unknown level: %v, want invalid", err)
	}
}

func admissionConfigFile(t *testing.T, plugins string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "admission.yaml")
	content := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n" + plugins
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPodSecurityConfigurationSetsDefaults(t *testing.T) {
	file := admissionConfigFile(t, `- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
    exemptions: {namespaces: [kube-system]}
`)
	client := clientset(t, start(t, withoutServiceAccounts, func(o *apiserver.Options) { o.AdmissionConfigFile = file }).LoopbackConfig())
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), hostPathPod("p"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("pod with hostPath with default level baseline: %v, want forbidden", err)
	}
	if _, err := client.CoreV1().Pods("kube-system").Create(t.Context(), hostPathPod("p"), metav1.CreateOptions{}); err != nil {
		t.Errorf("pod with hostPath in an exempt namespace: %v, want no error", err)
	}
}

func TestInvalidAdmissionConfigIsRejected(t *testing.T) {
	for plugins, want := range map[string]string{
		"- name: Frob\n": `plugins[0].name "Frob": unknown admission plugin: must be one of`,
		"- name: PodSecurity\n  path: absent.yaml\n":           "plugins[0].path: open ",
		"- name: PodSecurity\n  configuration: {kind: Frob}\n": "PodSecurityConfiguration",
		"- name: PodSecurity\n  frob: 1\n":                     `unknown field "plugins[0].frob"`,
	} {
		o := options(t.TempDir())
		o.AdmissionConfigFile = admissionConfigFile(t, plugins)
		if _, err := apiserver.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error that contains %q", plugins, err, want)
		}
	}
}
