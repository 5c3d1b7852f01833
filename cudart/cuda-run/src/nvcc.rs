//! Calls nvcc with what the software GPU needs: the shared runtime, PTX beside the machine code, and lines for the reports.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::{CommandLine, exit_code, libraries};

/// Compiles.
///
/// # Errors
/// A sentence, when there is no nvcc or it cannot be started.
pub fn run(arguments: &CommandLine) -> Result<ExitCode, String> {
    let nvcc = find(&arguments.command[0])?;
    let libraries = libraries::folder()?;
    let mut command = Command::new(&nvcc);
    command.args(complete(&arguments.command[1..])?);
    // The linker looks here first: libcudart.so is ours, and libcuda.so is not NVIDIA's stub.
    command.arg(joined("-L", libraries.as_os_str()));
    for folder in library_folders(&nvcc) {
        command.arg(joined("-L", folder.as_os_str()));
    }
    let status = command
        .status()
        .map_err(|error| format!("{} cannot be started: {error}", nvcc.display()))?;
    Ok(exit_code(status))
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(value);
    joined
}

/// The compiler: as named if the name has a folder, else from the PATH, from `CUDA_HOME`, or from Python's packages.
fn find(name: &OsStr) -> Result<PathBuf, String> {
    if Path::new(name).components().count() > 1 {
        return Ok(PathBuf::from(name));
    }
    let on_path = env::var_os("PATH")
        .into_iter()
        .flat_map(|path| env::split_paths(&path).collect::<Vec<_>>());
    let of_toolkit = env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let found = on_path
        .chain(of_toolkit)
        .map(|folder| folder.join("nvcc"))
        .find(|path| path.is_file());
    found.or_else(of_python).ok_or_else(|| {
        "there is no nvcc on the PATH, in $CUDA_HOME/bin, or among the packages of python3: install CUDA's toolkit, or \
         `pip install nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl`"
            .to_owned()
    })
}

/// The packages of CUDA 13 share the folder `nvidia/cu13`.
fn of_python() -> Option<PathBuf> {
    let program = "import nvidia; print(*nvidia.__path__, sep='\\n')";
    let output = Command::new("python3")
        .args(["-c", program])
        .output()
        .ok()?;
    let folders = String::from_utf8(output.stdout).ok()?;
    folders
        .lines()
        .map(|folder| Path::new(folder).join("cu13/bin/nvcc"))
        .find(|path| path.is_file())
}

/// Folders with the toolkit's other libraries. nvcc of Python's packages does not look into its own `lib`.
fn library_folders(nvcc: &Path) -> Vec<PathBuf> {
    let Some(toolkit) = nvcc.parent().and_then(Path::parent) else {
        return Vec::new();
    };
    [toolkit.join("lib"), toolkit.join("lib64")]
        .into_iter()
        .filter(|folder| folder.is_dir())
        .collect()
}

/// The program's arguments, changed where they would leave the program without the shared runtime or without PTX.
///
/// # Errors
/// A sentence for an option that cannot work.
fn complete(arguments: &[OsString]) -> Result<Vec<OsString>, String> {
    let mut complete = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_str().unwrap_or_default();
        match text {
            // Only one kind of runtime can serve: the option that follows decides.
            "-cudart" | "--cudart" => drop(rest.next()),
            _ if is_cudart(text) => {}
            "-cubin" | "--cubin" => {
                return Err(format!(
                    "{text} makes machine code, and the software GPU executes PTX: use -ptx or -fatbin instead"
                ));
            }
            "-gencode" | "--generate-code" => {
                let value = rest.next().ok_or_else(|| {
                    format!("{text} needs a value, as in {text} arch=compute_90,code=sm_90")
                })?;
                complete.extend([argument.clone(), value.clone()]);
                complete.extend(ptx_of(value.to_str().unwrap_or_default()));
            }
            _ => {
                complete.push(argument.clone());
                let value = text
                    .strip_prefix("-gencode=")
                    .or(text.strip_prefix("--generate-code="));
                complete.extend(value.and_then(ptx_of));
            }
        }
    }
    // Lines: of the host's calls, and of the kernels.
    let own = ["-cudart=shared", "-g", "-lineinfo"];
    complete.extend(own.map(OsString::from));
    Ok(complete)
}

fn is_cudart(text: &str) -> bool {
    text.starts_with("-cudart=") || text.starts_with("--cudart=")
}

/// The option that adds PTX to machine code: for `arch=compute_90,code=sm_90` it is `-gencode=arch=compute_90,code=compute_90`.
fn ptx_of(value: &str) -> Option<OsString> {
    let architecture = value
        .split(',')
        .find_map(|part| part.strip_prefix("arch="))?;
    let has_ptx = value
        .split_once("code=")
        .is_some_and(|(_, code)| code.contains("compute_"));
    (!has_ptx).then(|| format!("-gencode=arch={architecture},code={architecture}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(arguments: &[&str]) -> Vec<String> {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let complete = complete(&arguments).expect("the options can work");
        complete
            .into_iter()
            .map(|argument| argument.into_string().expect("text"))
            .collect()
    }

    const OWN: [&str; 3] = ["-cudart=shared", "-g", "-lineinfo"];

    #[test]
    fn the_static_runtime_becomes_the_shared_one() {
        for arguments in [
            &["a.cu", "-cudart", "static"][..],
            &["a.cu", "--cudart=none"],
            &["-cudart=static", "a.cu"],
        ] {
            assert_eq!(completed(arguments), [&["a.cu"], &OWN[..]].concat());
        }
    }

    #[test]
    fn machine_code_gets_ptx_beside_it_and_ptx_stays_alone() {
        let ptx = "-gencode=arch=compute_90,code=compute_90";
        let code = "arch=compute_90,code=sm_90";
        assert_eq!(
            completed(&["-gencode", code]),
            [&["-gencode", code, ptx], &OWN[..]].concat()
        );
        let joined = "-gencode=arch=compute_90,code=sm_90";
        assert_eq!(completed(&[joined]), [&[joined, ptx], &OWN[..]].concat());
        let both = "arch=compute_90,code=[sm_90,compute_90]";
        assert_eq!(
            completed(&["-gencode", both]),
            [&["-gencode", both], &OWN[..]].concat()
        );
    }

    #[test]
    fn other_arguments_stay_as_they_are() {
        let arguments = ["-O3", "-arch=sm_90", "x.cu", "-o", "x", "-DCODE=\"a b\""];
        assert_eq!(completed(&arguments), [&arguments, &OWN[..]].concat());
    }

    #[test]
    fn a_cubin_is_refused_by_the_option_s_name() {
        let refused = complete(&["--cubin".into()]).expect_err("machine code");
        assert!(refused.contains("--cubin"), "{refused}");
    }
}
