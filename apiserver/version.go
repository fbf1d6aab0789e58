package apiserver

import (
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"

	"github.com/berthproject/berth/internal/metrics"
)

// KubernetesVersion is the version that /version reports.
const KubernetesVersion = metrics.KubernetesVersion

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
