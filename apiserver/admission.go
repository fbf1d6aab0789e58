package apiserver

import (
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	plugins "github.com/berthproject/berth/apiserver/admission"
	"github.com/berthproject/berth/apiserver/auth"
)

// admissionOrder lists the admission plugins in the order in which they run.
var admissionOrder = slices.Concat(
	[]string{lifecycle.PluginName},
	auth.PluginNames(),
	plugins.Order,
)

// configureAdmission builds the admission chain from the enabled plugins.
func configureAdmission(c *genericapiserver.Config, o Options, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	registered := admission.NewPlugins()
	lifecycle.Register(registered)
	auth.RegisterPlugins(registered)
	plugins.Register(registered, o.NodeTolerationSeconds)
	var names []string
	for _, name := range admissionOrder {
		if !slices.Contains(o.DisableAdmissionPlugins, name) {
			names = append(names, name)
		}
	}
	for _, name := range o.DisableAdmissionPlugins {
		if !slices.Contains(admissionOrder, name) {
			return fmt.Errorf("--disable-admission-plugins %q: unknown admission plugin: want one of %v", name, admissionOrder)
		}
	}
	config, err := readAdmissionConfiguration(o.AdmissionConfigFile)
	if err != nil {
		return err
	}
	// The dynamic client and the REST mapper are nil: only policy and webhook plugins need them.
	init := initializer.New(client, nil, shared, c.Authorization.Authorizer, utilfeature.DefaultFeatureGate, c.EffectiveVersion, c.DrainedNotify(), nil)
	c.AdmissionControl, err = registered.NewFromPlugins(names, config, admission.PluginInitializers{init}, nil)
	return err
}
