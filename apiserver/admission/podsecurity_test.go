package admission

import (
	"io"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// annotatedRequest records the audit annotations of a request.
type annotatedRequest struct {
	admission.Attributes
	user        user.Info
	annotations map[string]string
}

func (a annotatedRequest) AddAnnotation(key, value string) error {
	a.annotations[key] = value
	return nil
}

func (a annotatedRequest) GetUserInfo() user.Info { return a.user }

// newTestPodSecurity returns the plugin in a cluster of namespaces with different labels. config is the text of the
// configuration file; "" means no file.
func newTestPodSecurity(t *testing.T, config string) admission.Interface {
	t.Helper()
	var reader io.Reader
	if config != "" {
		reader = strings.NewReader(config)
	}
	plugin, err := newPodSecurity(reader)
	if err != nil {
		t.Fatal(err)
	}
	namespace := func(name string, labels map[string]string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	return initialize(t, plugin, namespace("free", nil),
		namespace("ns", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}),
		namespace("old", map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.0"}),
		namespace("audited", map[string]string{"pod-security.kubernetes.io/audit": "baseline"}))
}

const baselineByDefault = `apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline, enforce-version: latest}
exemptions: {usernames: [installer], namespaces: [ns], runtimeClasses: [vm]}
`

func TestPodSecurityLevels(t *testing.T) {
	const denied = `violates PodSecurity "restricted:latest"`
	for name, tc := range map[string]struct {
		config, namespace, user string
		class                   *string
		want                    string
		annotations             map[string]string
	}{
		"no label":         {namespace: "free"},
		"restricted":       {namespace: "ns", want: denied, annotations: map[string]string{"pod-security.kubernetes.io/enforce-policy": "restricted:latest"}},
		"older version":    {namespace: "old", want: `violates PodSecurity "restricted:v1.0"`, annotations: map[string]string{"pod-security.kubernetes.io/enforce-policy": "restricted:v1.0"}},
		"default level":    {config: baselineByDefault, namespace: "free", want: `violates PodSecurity "baseline:latest": hostPath volumes (volume "v")`, annotations: map[string]string{"pod-security.kubernetes.io/enforce-policy": "baseline:latest"}},
		"exempt namespace": {config: baselineByDefault, namespace: "ns", annotations: map[string]string{"pod-security.kubernetes.io/exempt": "namespace"}},
		"exempt user":      {config: baselineByDefault, namespace: "free", user: "installer", annotations: map[string]string{"pod-security.kubernetes.io/exempt": "user"}},
		"exempt class":     {config: baselineByDefault, namespace: "free", class: ptr("vm"), annotations: map[string]string{"pod-security.kubernetes.io/exempt": "runtimeClass"}},
		"audited": {namespace: "audited", annotations: map[string]string{"pod-security.kubernetes.io/enforce-policy": "privileged:latest",
			"pod-security.kubernetes.io/audit-violations": `would violate PodSecurity "baseline:latest": hostPath volumes (volume "v")`}},
	} {
		pod := podOf(func(p *corev1.Pod) {
			p.Namespace, p.Spec.RuntimeClassName = tc.namespace, tc.class
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		})
		request := annotatedRequest{create(corev1.Resource("pods"), pod), &user.DefaultInfo{Name: tc.user}, map[string]string{}}
		got := admit(t, newTestPodSecurity(t, tc.config), request)
		if (tc.want == "") != (got == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got rejection %q, want %q", name, got, tc.want)
		}
		if tc.annotations == nil {
			tc.annotations = map[string]string{"pod-security.kubernetes.io/enforce-policy": "privileged:latest"}
		}
		if !maps.Equal(request.annotations, tc.annotations) {
			t.Errorf("%s: got audit annotations %v, want %v", name, request.annotations, tc.annotations)
		}
	}
}

func TestInvalidPodSecurityConfigurationIsRejected(t *testing.T) {
	for config, want := range map[string]string{
		"kind: Frob": "apiVersion",
		"apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\ndefaults: {enforce: strict}": "must be one of privileged, baseline, restricted",
	} {
		if _, err := newPodSecurity(strings.NewReader(config)); err == nil || !strings.Contains(err.Error(), "PodSecurityConfiguration: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error that contains %q", config, err, want)
		}
	}
}
