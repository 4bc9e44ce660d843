// This file holds the File resource, which keeps one real file, and the readFile function.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi-go-provider/infer"
)

type File struct{}

type FileArgs struct {
	Path    string  `pulumi:"path" provider:"replaceOnChanges"`
	Content string  `pulumi:"content"`
	Mode    *string `pulumi:"mode,optional"`
}

// FileState describes the file on disk; size and sha256 count the prefix too.
type FileState struct {
	FileArgs
	Size   int    `pulumi:"size"`
	Sha256 string `pulumi:"sha256"`
}

func (f *FileArgs) Annotate(a infer.Annotator) {
	a.Describe(&f.Path, "Where the file is; another path is another file.")
	a.Describe(&f.Mode, "Permission bits in octal, such as 0600.")
}

func (File) Check(ctx context.Context, req infer.CheckRequest) (infer.CheckResponse[FileArgs], error) {
	args, failures, err := infer.DefaultCheck[FileArgs](ctx, req.NewInputs)
	if _, bad := permissions(args.Mode); bad != nil {
		failures = append(failures, p.CheckFailure{Property: "mode", Reason: bad.Error()})
	}
	return infer.CheckResponse[FileArgs]{Inputs: args, Failures: failures}, err
}

func (File) Create(ctx context.Context, req infer.CreateRequest[FileArgs]) (infer.CreateResponse[FileState], error) {
	state, err := put(ctx, req.Inputs, req.DryRun)
	return infer.CreateResponse[FileState]{ID: req.Inputs.Path, Output: state}, err
}

func (File) Update(
	ctx context.Context, req infer.UpdateRequest[FileArgs, FileState],
) (infer.UpdateResponse[FileState], error) {
	state, err := put(ctx, req.Inputs, req.DryRun)
	return infer.UpdateResponse[FileState]{Output: state}, err
}

func (File) Read(
	ctx context.Context, req infer.ReadRequest[FileArgs, FileState],
) (infer.ReadResponse[FileArgs, FileState], error) {
	config := infer.GetConfig[Config](ctx)
	found, err := os.ReadFile(config.resolve(req.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return infer.ReadResponse[FileArgs, FileState]{}, nil
	} else if err != nil {
		return infer.ReadResponse[FileArgs, FileState]{}, err
	}
	args := FileArgs{Path: req.ID, Content: strings.TrimPrefix(string(found), config.prefix())}
	if req.State.Mode != nil {
		info, err := os.Stat(config.resolve(req.ID))
		if err != nil {
			return infer.ReadResponse[FileArgs, FileState]{}, err
		}
		args.Mode = req.State.Mode
		if want, err := permissions(args.Mode); err != nil || want != info.Mode().Perm() {
			actual := fmt.Sprintf("%04o", info.Mode().Perm())
			args.Mode = &actual
		}
	}
	return infer.ReadResponse[FileArgs, FileState]{ID: req.ID, Inputs: args, State: describe(args, found)}, nil
}

func (File) Delete(ctx context.Context, req infer.DeleteRequest[FileState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, remove(ctx, req.ID)
}

// WireDependencies lets a secret content make what is computed from it secret, and nothing else.
func (File) WireDependencies(f infer.FieldSelector, args *FileArgs, state *FileState) {
	f.OutputField(&state.Path).DependsOn(f.InputField(&args.Path))
	f.OutputField(&state.Mode).DependsOn(f.InputField(&args.Mode))
	content := f.InputField(&args.Content)
	f.OutputField(&state.Content).DependsOn(content)
	f.OutputField(&state.Size).DependsOn(content)
	f.OutputField(&state.Sha256).DependsOn(content)
}

// ReadFile is the function that reads a file which need not be a resource.
type ReadFile struct{}

type ReadFileArgs struct {
	Path string `pulumi:"path"`
}

type ReadFileResult struct {
	Content string `pulumi:"content"`
}

func (ReadFile) Invoke(
	ctx context.Context, req infer.FunctionRequest[ReadFileArgs],
) (infer.FunctionResponse[ReadFileResult], error) {
	found, err := os.ReadFile(infer.GetConfig[Config](ctx).resolve(req.Input.Path))
	return infer.FunctionResponse[ReadFileResult]{Output: ReadFileResult{Content: string(found)}}, err
}

// put writes the file unless this is a preview, and returns the content on disk.
func put(ctx context.Context, args FileArgs, preview bool) (FileState, error) {
	config := infer.GetConfig[Config](ctx)
	bytes := []byte(config.prefix() + args.Content)
	if preview {
		return describe(args, bytes), nil
	}
	mode, err := permissions(args.Mode)
	if err != nil {
		return FileState{}, err
	}
	path := config.resolve(args.Path)
	if err := os.WriteFile(path, bytes, mode); err != nil {
		return FileState{}, err
	}
	return describe(args, bytes), os.Chmod(path, mode)
}

func describe(args FileArgs, bytes []byte) FileState {
	sum := sha256.Sum256(bytes)
	return FileState{FileArgs: args, Size: len(bytes), Sha256: hex.EncodeToString(sum[:])}
}

// permissions reads an octal mode; an absent one, or one not known yet, is the usual 0644.
func permissions(mode *string) (fs.FileMode, error) {
	if mode == nil || *mode == "" {
		return 0o644, nil
	}
	bits, err := strconv.ParseUint(*mode, 8, 32)
	if err != nil || bits > 0o777 {
		return 0, fmt.Errorf("%q is not an octal mode such as 0644", *mode)
	}
	return fs.FileMode(bits), nil
}

// remove takes away a file or an empty folder; one that is gone already is no error.
func remove(ctx context.Context, path string) error {
	err := os.Remove(infer.GetConfig[Config](ctx).resolve(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
