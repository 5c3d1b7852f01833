//! The patterns to avoid.

/// Words that a reader has to read twice.
pub struct Rule {
    /// A regular expression; a space stands for any white space.
    pub pattern: &'static str,
    /// What to write instead.
    pub instead: &'static str,
    /// A sentence that the rule has to find.
    pub example: &'static str,
}

/// Files that quote the patterns.
pub const ALLOWED: &[&str] = &[
    "CONTRIBUTING.md",
    "tools/book/tests/language/rules.rs",
    "tools/book/tests/language.rs",
];

/// Files and words that stay until the kernels change: the digest of a recorded module covers the comments of its sources.
pub const KEPT: &[(&str, &str)] = &[
    (
        "gpu-kernels/src/baseline/kv_cache.rs",
        "what a pointer leads to",
    ),
    ("gpu-kernels/src/cluster_product/kernels.rs", "whoever"),
    ("gpu-kernels/src/gemm/mma_sync_wide/ring.rs", "Of a"),
    ("rust-cuda/cuda_std/src/extensions/registers.rs", "Somebody"),
    ("rust-cuda/cuda_std/src/shared.rs", "whoever"),
    ("rust-cuda/cuda_std_macros/src/kernel.rs", "whoever"),
];

const fn rule(pattern: &'static str, instead: &'static str, example: &'static str) -> Rule {
    Rule {
        pattern,
        instead,
        example,
    }
}

#[rustfmt::skip]
pub const RULES: &[Rule] = &[
    rule(r"\b(is|are|was|were) none\b|\b(has|have|had) none[.,;:]", "name what is missing: \"without samples\", \"an unknown name\"", "Longer PTX is none."),
    rule(r"\b[Ss]o (many|much) (of|bytes|as it|warps|threads|blocks|elements|times|nodes|ranges|pairs|cycles|places|shared|dynamic)\b", "\"this many\", \"at most this many\"", "So many bytes were mapped."),
    rule(r"\b[Nn]obody\b", "name the subject: no thread, no caller, no operation", "Nobody waits for it."),
    rule(r"\b([Ii]t is|is|are) said\b", "say who prints or describes it", "What the host waits for is said in `transfer`."),
    rule(r"\b(is|are|was|were|be|been|being|not) told( of| by| when| what| that| who|\W*$|[.,;:])", "reported, recorded, distinguished, informed", "The checker is told of the write."),
    rule(r", but for\b|\bbut for (the|its|their|a|one|what|those)\b", "except", "All of them, but for the first."),
    rule(r"\bbelongs? into\b", "belongs in", "It does not belong into a loop."),
    rule(r"\bkeeps? (the|a) host\b|\bhost is kept\b", "blocks the host", "Neither call keeps the host."),
    rule(r"\bas dear\b|\bdearer than\b", "expensive", "It is as dear as a large allocation."),
    rule(r"\b[Ii]n the mean\b", "on average", "It comes late, in the mean."),
    rule(r"\bat (least|most) [^ ]+ asked\b", "required, allowed", "1.25x, at most 1.2x asked"),
    rule(r"\b[Ww]hat \S+( \S+)? makes? of\b", "the result of", "what a kernel makes of the data"),
    rule(r"\b[Tt]hose of (them|which)\b", "name the subset", "Those of them with waits."),
    rule(r"\b(it|that|this|which|what|text|name|number|null|variable|file|input|word|output) is no (id|folder|file|number|kernel|attribute|image|page|terminal|context|mode|function|lab|profile|chapter)\b", "is not a …", "The text is no profile."),
    rule(r"\bsees? to it\b", "ensures, checks", "A test sees to it."),
    rule(r"\b(ranked|sorted|named) otherwise\b", "differently", "two pairs are ranked otherwise"),
    rule(r"\b(leave|leaves|left) word\b", "stores, notifies", "It leaves word somewhere."),
    rule(r"\bwho knows\b", "unknown", "from who knows where"),
    rule(r"\b(warps|lanes|threads|bytes|blocks|end|start|others|copies|it|that) (has|have|had) come\b", "arrived, ended, reached", "until all warps have come"),
    rule(r"\b(is|are) not over\b", "pending, not complete", "waits that are not over"),
    rule(r"\b(every|an|the) orders?( that)? (is|are) kept\b|\black(s|ing)? an order\b|\bwithout an order\b", "dependency", "operations that lack an order"),
    rule(r"\bcomes? after what\b|\bwhat comes after\b", "happens after, later operations", "The wait comes after what the event stands for."),
    rule(r"\bwhatever it (is|was)\b", "\"every …\"", "It costs the same, whatever it is."),
    rule(r"[/;{},.] Of (a|an|the|all|any|which|what|each|several|equal|more|other|such|this|these|those|one|two|three)\b", "begin with the subject", "/// Of each run, the last one."),
    rule(r"\b([Ww]hoever|[Ss]omebody|[Aa]nybody|[Ee]verybody)\b", "name the subject: the caller, the thread, the reader", "Whoever reads it waits."),
    rule(r"\b(told|tells?|tell) \S+( \S+)?( \S+)? apart\b|\b(is|are|be) told apart\b", "distinguish, identify", "Numbers tell all streams apart."),
    rule(r"\bWhat is (measured and )?(measured, compared and )?claimed of\b", "\"Claims of …\"", "What is measured and claimed of update."),
    rule(r"\b([Tt]akes? note) of\b", "records", "Takes note of an access."),
    rule(r"\bpointers? leads? to\b|\b(null or|what each|what a pointer) leads to\b", "points to, addresses", "It is null or leads to parameters."),
    rule(r"\bWhat (it|they|this|that) (is|are) (about|worth|of|a number of)[.:,]", "name it: the subject, the points, the unit", "What it is a number of."),
    rule(r"\bfn (so|it|that|and)_(does|do|is|are|was|there|has)_\w*", "a test's name is a statement that stands alone", "fn so_does_a_store() {"),
    rule(r"\bfn \w+_(is|are)_(told|said)\w*", "reported, distinguished", "fn a_race_is_told() {"),
    rule(r"\b(threads|warps|lanes|splits|blocks) (of (the|a|its|their) \S+ )?(have|has) met\b", "reconverged, synchronised, arrived", "All threads of the block have met."),
    rule(r"\b[Aa]n own\b", "its own", "an own operation for the wait"),
];
