package apiserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
)

// readAdmissionConfiguration reads the options of the admission plugins. It returns an error if the
// file names a plugin that this server does not have. An empty path selects the defaults.
func readAdmissionConfiguration(path string) (admission.ConfigProvider, error) {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	if path != "" {
		if err := checkAdmissionPluginNames(path, scheme); err != nil {
			return nil, fmt.Errorf("--admission-control-config-file %s: %w", path, err)
		}
	}
	config, err := admission.ReadAdmissionConfiguration(nil, path, scheme)
	if err != nil {
		return nil, fmt.Errorf("--admission-control-config-file %s: %w", path, err)
	}
	return config, nil
}

// checkAdmissionPluginNames returns an error for an unknown plugin and for a file that cannot be
// read. The library ends the process if it cannot read the file of a plugin.
func checkAdmissionPluginNames(path string, scheme *runtime.Scheme) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	obj, err := runtime.Decode(serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder(), data)
	if err != nil {
		return err
	}
	config, ok := obj.(*apiserver.AdmissionConfiguration)
	if !ok {
		return fmt.Errorf("kind %T: must be AdmissionConfiguration in apiserver.config.k8s.io/v1", obj)
	}
	for i, plugin := range config.Plugins {
		if !slices.Contains(admissionOrder, plugin.Name) {
			return fmt.Errorf("plugins[%d].name %q: unknown admission plugin: must be one of %v", i, plugin.Name, admissionOrder)
		}
		if plugin.Path == "" {
			continue
		}
		file := plugin.Path
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(path), file)
		}
		if _, err := os.ReadFile(file); err != nil {
			return fmt.Errorf("plugins[%d].path: %w", i, err)
		}
	}
	return nil
}
