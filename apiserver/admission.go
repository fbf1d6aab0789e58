package apiserver

import (
	"fmt"
	"slices"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle"
	genericapiserver "k8s.io/apiserver/pkg/server"

	plugins "github.com/berthproject/berth/apiserver/admission"
	"github.com/berthproject/berth/apiserver/auth"
)

// admissionOrder lists the admission plugins in the order in which they run.
var admissionOrder = withDynamicPlugins(slices.Concat(
	[]string{lifecycle.PluginName},
	auth.PluginNames(),
	plugins.Order,
))

// configureAdmission builds the admission chain from the enabled plugins.
func configureAdmission(c *genericapiserver.Config, o Options, d *dynamicAdmission) error {
	registered := admission.NewPlugins()
	lifecycle.Register(registered)
	auth.RegisterPlugins(registered)
	plugins.Register(registered, o.NodeTolerationSeconds)
	d.register(registered)
	var names []string
	for _, name := range admissionOrder {
		if !slices.Contains(o.DisableAdmissionPlugins, name) {
			names = append(names, name)
		}
	}
	for _, name := range o.DisableAdmissionPlugins {
		if !slices.Contains(admissionOrder, name) {
			return fmt.Errorf("--disable-admission-plugins %q: unknown admission plugin: must be one of %v", name, admissionOrder)
		}
	}
	config, err := readAdmissionConfiguration(o.AdmissionConfigFile)
	if err != nil {
		return err
	}
	chain, err := registered.NewFromPlugins(names, config, d.inits, admission.DecoratorFunc(metrics.WithControllerMetrics))
	if err != nil {
		return err
	}
	c.AdmissionControl = metrics.WithStepMetrics(chain)
	return nil
}
