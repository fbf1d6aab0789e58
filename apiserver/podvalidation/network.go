package podvalidation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of the resolver configuration. The length of the search list is in bytes.
const (
	maxNameservers      = 3
	maxSearchPaths      = 32
	maxSearchListLength = 2048
)

func (c *podValidator) validateDNSConfig(path *field.Path) {
	config := c.spec.DNSConfig
	if c.spec.DNSPolicy == corev1.DNSNone {
		if config == nil {
			c.required(path, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
		if len(config.Nameservers) == 0 {
			c.required(path.Child("nameservers"), fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
	}
	if config == nil {
		return
	}
	if len(config.Nameservers) > maxNameservers {
		c.invalid(path.Child("nameservers"), config.Nameservers, fmt.Sprintf("must not have more than %d nameservers", maxNameservers))
	}
	for i, server := range config.Nameservers {
		c.validateIP(server, path.Child("nameservers").Index(i))
	}
	searches := path.Child("searches")
	if len(config.Searches) > maxSearchPaths {
		c.invalid(searches, config.Searches, fmt.Sprintf("must not have more than %d search paths", maxSearchPaths))
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchListLength {
		c.invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", maxSearchListLength))
	}
	for i, search := range config.Searches {
		if search != "." {
			search = strings.TrimSuffix(search, ".")
			c.invalidEach(searches.Index(i), search, validation.IsDNS1123SubdomainWithUnderscore(search))
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			c.required(path.Child("options").Index(i), "must not be empty")
		}
	}
}

// validateIP accepts the lenient forms that are valid in legacy fields.
func (c *errorCollector) validateIP(address string, path *field.Path) {
	c.add(validation.IsValidIPForLegacyField(path, address, false, nil)...)
}

func (c *podValidator) validateHostAliases(path *field.Path) {
	for i, alias := range c.spec.HostAliases {
		idxPath := path.Index(i)
		c.validateIP(alias.IP, idxPath.Child("ip"))
		for j, name := range alias.Hostnames {
			c.invalidEach(idxPath.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))
		}
	}
}
