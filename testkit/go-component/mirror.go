// This file holds a component whose output is what has arrived at its host: the options, and the marks of each input.
package main

import (
	"encoding/json"
	"sort"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
)

// MirrorArgs are the inputs of a Mirror.
type MirrorArgs struct {
	Size pulumi.AnyOutput      `pulumi:"size"`
	Key  pulumi.StringPtrInput `pulumi:"key,optional"`
}

// Mirror is a component with a thing.
type Mirror struct {
	pulumi.ResourceState
	Seen pulumi.StringOutput `pulumi:"seen"`
}

// NewMirror registers a mirror and its thing.
func NewMirror(ctx *pulumi.Context, name string, args MirrorArgs, options ...pulumi.ResourceOption) (*Mirror, error) {
	mirror := &Mirror{}
	if err := ctx.RegisterComponentResource(p.GetTypeToken(ctx.Context()), name, mirror, options...); err != nil {
		return nil, err
	}
	inputs := pulumi.Map{"size": args.Size}
	err := ctx.RegisterResource("things:index:Thing", name+"-thing", inputs, &plainResource{}, pulumi.Parent(mirror))
	if err != nil {
		return nil, err
	}
	given := map[string]pulumi.Output{"size": args.Size}
	if args.Key != nil {
		given["key"] = args.Key.ToStringPtrOutput()
	}
	text, err := seen(ctx, given, options)
	mirror.Seen = pulumi.String(text).ToStringOutput()
	return mirror, err
}

// seen describes inputs and options.
func seen(ctx *pulumi.Context, given map[string]pulumi.Output, options []pulumi.ResourceOption) (string, error) {
	inputs := map[string]any{}
	for name, output := range given {
		result, err := internals.UnsafeAwaitOutput(ctx.Context(), output)
		if err != nil {
			return "", err
		}
		sources, err := named(ctx, result.Dependencies...)
		if err != nil {
			return "", err
		}
		inputs[name] = map[string]any{"known": result.Known, "secret": result.Secret, "from": sources}
	}
	known, err := seenOptions(ctx, options)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"inputs": inputs, "options": known})
	return string(text), err
}

// seenOptions describes options; those that are not set are absent.
func seenOptions(ctx *pulumi.Context, options []pulumi.ResourceOption) (map[string]any, error) {
	found, err := pulumi.NewResourceOptions(options...)
	if err != nil {
		return nil, err
	}
	known := map[string]any{}
	for _, alias := range found.Aliases {
		aliases, _ := known["aliases"].([]pulumi.URNInput)
		known["aliases"] = append(aliases, alias.URN)
	}
	if found.CustomTimeouts != nil {
		known["customTimeouts"] = map[string]string{"create": found.CustomTimeouts.Create, "update": found.CustomTimeouts.Update}
	}
	if err := seenNewerOptions(ctx, found, known); err != nil {
		return nil, err
	}
	for name, values := range map[string][]string{"ignoreChanges": found.IgnoreChanges, "replaceOnChanges": found.ReplaceOnChanges} {
		if len(values) > 0 {
			known[name] = values
		}
	}
	for name, set := range map[string]bool{"protect": found.Protect, "retainOnDelete": found.RetainOnDelete} {
		if set {
			known[name] = true
		}
	}
	single := map[string][]pulumi.Resource{"dependsOn": found.DependsOn}
	if found.DeletedWith != nil {
		single["deletedWith"] = []pulumi.Resource{found.DeletedWith}
	}
	if found.Parent != nil {
		single["parent"] = []pulumi.Resource{found.Parent}
	}
	for name, resources := range single {
		names, err := named(ctx, resources...)
		if err != nil {
			return nil, err
		}
		if len(names) > 0 {
			known[name] = names
		}
	}
	providers := map[string]string{}
	for _, provider := range found.Providers {
		result, err := internals.UnsafeAwaitOutput(ctx.Context(), provider.URN())
		if err != nil {
			return nil, err
		}
		_, typed, _ := strings.Cut(string(result.Value.(pulumi.URN)), "::pulumi:providers:")
		pkg, provided, _ := strings.Cut(typed, "::")
		providers[pkg] = provided
	}
	if len(providers) > 0 {
		known["providers"] = providers
	}
	return known, nil
}

// named returns the names of resources.
func named(ctx *pulumi.Context, resources ...pulumi.Resource) ([]string, error) {
	names := []string{}
	for _, resource := range resources {
		result, err := internals.UnsafeAwaitOutput(ctx.Context(), resource.URN())
		if err != nil {
			return nil, err
		}
		urn := string(result.Value.(pulumi.URN))
		names = append(names, urn[strings.LastIndex(urn, "::")+2:])
	}
	sort.Strings(names)
	return names, nil
}
