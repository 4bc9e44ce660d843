//go:build !newest

// This file stands in for what the library of providers 1.1 does not pass on: hooks, and triggers of replacements.
package main

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// hooksOf returns an option without effect.
func hooksOf(*pulumi.Context, string, GuardedArgs) (pulumi.ResourceOption, error) {
	return pulumi.Composite(), nil
}

// seenNewerOptions describes nothing.
func seenNewerOptions(*pulumi.Context, *pulumi.ResourceOptions, map[string]any) error {
	return nil
}
