package apiserver

import (
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// KubernetesVersion is the version that /version reports. It is a constant and not set by the
// linker, so that `go run` builds a server that kubectl understands. The suffix distinguishes it
// from a Kubernetes server.
const KubernetesVersion = "v1.37.2+berth"

const kubernetesMinor = "1.37"

type servedVersion struct {
	compatibility.EffectiveVersion
}

func effectiveVersion() compatibility.EffectiveVersion {
	return servedVersion{compatibility.NewEffectiveVersionFromString(kubernetesMinor, "", "")}
}

// Info returns the response of /version.
func (v servedVersion) Info() *apimachineryversion.Info {
	info := *v.EffectiveVersion.Info()
	info.GitVersion = KubernetesVersion
	info.GitCommit = ""
	info.GitTreeState = ""
	return &info
}
