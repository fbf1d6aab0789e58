package guard

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// readConfig calls ReadKubeletConfig on a server with the given response.
func readConfig(t *testing.T, code int, response string) (*KubeletConfig, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/nodes/n1/proxy/configz" {
			t.Errorf("request for %s, want configz of n1", r.URL.Path)
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(response))
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return ReadKubeletConfig(t.Context(), client, "n1")
}

func TestCheck(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		want   string // expected error; "" for none
	}{
		"defaults":        {`"evictionHard":{"memory.available":"100Mi","nodefs.available":"10%"}`, "evictionHard: memory.available<100Mi"},
		"disk thresholds": {`"evictionHard":{"nodefs.available":"10%","imagefs.available":"15%"}`, ""},
		"disabled by 0%":  {`"evictionHard":{"memory.available":"0%","pid.available":"0"}`, ""},
		"no thresholds":   {`"evictionHard":{}`, ""},
		"soft":            {`"evictionSoft":{"memory.available":"300Mi"}`, "evictionSoft: memory.available<300Mi"},
		"processes":       {`"evictionHard":{"pid.available":"5%"}`, "evictionHard: pid.available<5%"},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := readConfig(t, http.StatusOK, `{"kubeletconfig":{`+tc.config+`}}`)
			if err != nil {
				t.Fatal(err)
			}
			err = k.Check("n1")
			var conflict *ConflictError
			if tc.want == "" && err != nil || tc.want != "" && (!errors.As(err, &conflict) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Check: %v, want an error with %q, or none if that is empty", err, tc.want)
			}
		})
	}
}

func TestReadKubeletConfigFails(t *testing.T) {
	for name, tc := range map[string]struct {
		code     int
		response string
	}{
		"forbidden":         {http.StatusForbidden, `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403}`},
		"no kubelet config": {http.StatusOK, `{"berth.dev":{}}`},
		"no JSON":           {http.StatusOK, `ok`},
	} {
		t.Run(name, func(t *testing.T) {
			if k, err := readConfig(t, tc.code, tc.response); err == nil {
				t.Errorf("got %+v, want an error", k)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	const uid = "0123-4567"
	for want, got := range map[string]string{
		"/kubepods/pod0123-4567":                                                           Layout{}.Pod(corev1.PodQOSGuaranteed, uid),
		"/kubepods/burstable/pod0123-4567":                                                 Layout{}.Pod(corev1.PodQOSBurstable, uid),
		"/in/kubepods/besteffort/pod0123-4567":                                             Layout{Root: "/in"}.Pod(corev1.PodQOSBestEffort, uid),
		"/kubepods.slice/kubepods-pod0123_4567.slice":                                      Layout{Systemd: true}.Pod(corev1.PodQOSGuaranteed, uid),
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0123_4567.slice": Layout{Systemd: true}.Pod(corev1.PodQOSBestEffort, uid),
	} {
		if got != want {
			t.Errorf("cgroup %s, want %s", got, want)
		}
	}
}
