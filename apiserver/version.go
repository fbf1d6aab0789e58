package apiserver

import (
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// KubernetesVersion is the version that clients are told. It is set here and not
// by the linker, so that `go run` gives a server that kubectl understands; the
// part after the plus tells it from a Kubernetes server.
const KubernetesVersion = "v1.37.2+berth"

const kubernetesMinor = "1.37"

type servedVersion struct {
	compatibility.EffectiveVersion
}

func effectiveVersion() compatibility.EffectiveVersion {
	return servedVersion{compatibility.NewEffectiveVersionFromString(kubernetesMinor, "", "")}
}

// Info is what /version answers.
func (v servedVersion) Info() *apimachineryversion.Info {
	info := *v.EffectiveVersion.Info()
	info.GitVersion = KubernetesVersion
	info.GitCommit = ""
	info.GitTreeState = ""
	return &info
}
