//! The built-in functions: their names and signatures, and the dispatch to their implementations.

pub(crate) mod array;
mod encode;
pub(crate) mod equality;
mod formatting;
mod higher_order;
mod meta;
mod number;
mod object;
pub(crate) mod pattern;
pub(crate) mod string;
mod text_search;

use crate::error::ExprResult;
use crate::eval::frame::Env;
use crate::eval::machine::Machine;
use crate::eval::val::Val;
use crate::syntax::signature::Signature;
use std::sync::LazyLock;

macro_rules! builtins {
    ($($variant:ident $name:literal $signature:literal $arity:literal;)*) => {
        /// A built-in function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Builtin {
            $($variant,)*
        }

        /// Name, signature, and how many arguments higher-order functions pass to it.
        const TABLE: &[(Builtin, &str, &str, usize)] = &[
            $((Builtin::$variant, $name, $signature, $arity),)*
        ];
    };
}

builtins! {
    Sum "sum" "<a<n>:n>" 1;
    Count "count" "<a:n>" 1;
    Max "max" "<a<n>:n>" 1;
    Min "min" "<a<n>:n>" 1;
    Average "average" "<a<n>:n>" 1;
    String "string" "<x-b?:s>" 1;
    Substring "substring" "<s-nn?:s>" 3;
    SubstringBefore "substringBefore" "<s-s:s>" 2;
    SubstringAfter "substringAfter" "<s-s:s>" 2;
    Lowercase "lowercase" "<s-:s>" 1;
    Uppercase "uppercase" "<s-:s>" 1;
    Length "length" "<s-:n>" 1;
    Trim "trim" "<s-:s>" 1;
    Pad "pad" "<s-ns?:s>" 3;
    Match "match" "<s-f<s:o>n?:a<o>>" 3;
    Contains "contains" "<s-(sf):b>" 2;
    Replace "replace" "<s-(sf)(sf)n?:s>" 4;
    Split "split" "<s-(sf)n?:a<s>>" 3;
    Join "join" "<a<s>s?:s>" 2;
    FormatNumber "formatNumber" "<n-so?:s>" 3;
    FormatBase "formatBase" "<n-n?:s>" 2;
    FormatInteger "formatInteger" "<n-s:s>" 2;
    ParseInteger "parseInteger" "<s-s:n>" 2;
    Number "number" "<(nsb)-:n>" 1;
    Floor "floor" "<n-:n>" 1;
    Ceil "ceil" "<n-:n>" 1;
    Round "round" "<n-n?:n>" 2;
    Abs "abs" "<n-:n>" 1;
    Sqrt "sqrt" "<n-:n>" 1;
    Power "power" "<n-n:n>" 2;
    Random "random" "<:n>" 0;
    Boolean "boolean" "<x-:b>" 1;
    Not "not" "<x-:b>" 1;
    Map "map" "<af>" 2;
    Zip "zip" "<a+>" 0;
    Filter "filter" "<af>" 2;
    Single "single" "<af?>" 2;
    Reduce "reduce" "<afj?:j>" 3;
    Sift "sift" "<o-f?:o>" 2;
    Keys "keys" "<x-:a<s>>" 1;
    Lookup "lookup" "<x-s:x>" 2;
    Append "append" "<xx:a>" 2;
    Exists "exists" "<x:b>" 1;
    Spread "spread" "<x-:a<o>>" 1;
    Merge "merge" "<a<o>:o>" 1;
    Reverse "reverse" "<a:a>" 1;
    Each "each" "<o-f:a>" 2;
    Error "error" "<s?:x>" 1;
    Assert "assert" "<bs?:x>" 2;
    Type "type" "<x:s>" 1;
    Sort "sort" "<af?:a>" 2;
    Shuffle "shuffle" "<a:a>" 1;
    Distinct "distinct" "<x:x>" 1;
    Base64Encode "base64encode" "<s-:s>" 1;
    Base64Decode "base64decode" "<s-:s>" 1;
    EncodeUrlComponent "encodeUrlComponent" "<s-:s>" 1;
    EncodeUrl "encodeUrl" "<s-:s>" 1;
    DecodeUrlComponent "decodeUrlComponent" "<s-:s>" 1;
    DecodeUrl "decodeUrl" "<s-:s>" 1;
    Eval "eval" "<sx?:x>" 2;
    ToMillis "toMillis" "<s-s?:n>" 2;
    FromMillis "fromMillis" "<n-s?s?:s>" 3;
    Clone "clone" "<(oa)-:o>" 1;
    Now "now" "<s?s?:s>" 2;
    Millis "millis" "<:n>" 0;
}

static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
    let parse = |text| Signature::parse(text, 0).unwrap_or(Signature { params: Vec::new() });
    TABLE
        .iter()
        .map(|(_, _, signature, _)| parse(signature))
        .collect()
});

impl Builtin {
    pub(crate) fn find(name: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|(_, known, ..)| *known == name)
            .map(|(builtin, ..)| *builtin)
    }

    /// The names of all built-in functions.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|(_, name, ..)| *name)
    }

    pub(crate) fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// Whether it returns a sequence, which a function that ends in calling it returns unchanged.
    pub(crate) fn gives_sequence(self) -> bool {
        matches!(
            self,
            Self::Map
                | Self::Filter
                | Self::Each
                | Self::Keys
                | Self::Match
                | Self::Spread
                | Self::Lookup
                | Self::Distinct
        )
    }

    pub(crate) fn arity(self) -> usize {
        TABLE[self as usize].3
    }
}

impl Machine<'_> {
    /// Calls a built-in with the arguments of a call.
    pub(crate) fn builtin(
        &mut self,
        builtin: Builtin,
        args: Vec<Val>,
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        // A call in a loop costs fuel on every iteration.
        self.meter.burn(1)?;
        let args = self.coerce_args(&SIGNATURES[builtin as usize], args, input);
        let args = args.map_err(|flaw| flaw.or_token(builtin.name()))?;
        self.dispatch_builtin(builtin, &args, input, env)
    }

    fn dispatch_builtin(
        &mut self,
        builtin: Builtin,
        args: &[Val],
        input: &Val,
        env: &Env,
    ) -> ExprResult<Val> {
        match builtin {
            Builtin::Sum | Builtin::Max | Builtin::Min | Builtin::Average => {
                self.aggregate_of(builtin, &args[0])
            }
            Builtin::Count => Ok(Val::count(args[0].items().len())),
            Builtin::String => self.string(&args[0], &args[1]),
            Builtin::Substring => self.substring(&args[0], &args[1], &args[2]),
            Builtin::SubstringBefore => self.substring_before(&args[0], &args[1]),
            Builtin::SubstringAfter => self.substring_after(&args[0], &args[1]),
            Builtin::Lowercase | Builtin::Uppercase | Builtin::Trim => {
                self.change_case(builtin, &args[0])
            }
            Builtin::Length => self.length(&args[0]),
            Builtin::Pad => self.pad(&args[0], &args[1], &args[2]),
            Builtin::Match => self.match_all(&args[0], &args[1], &args[2], env),
            Builtin::Contains => self.contains(&args[0], &args[1], env),
            Builtin::Replace => self.replace(args, env),
            Builtin::Split => self.split(&args[0], &args[1], &args[2], env),
            Builtin::Join => self.join(&args[0], &args[1]),
            Builtin::FormatNumber => self.format_number(&args[0], &args[1], &args[2]),
            Builtin::FormatBase => self.format_base(&args[0], &args[1]),
            Builtin::FormatInteger => self.format_integer(&args[0], &args[1]),
            Builtin::ParseInteger => self.parse_integer(&args[0], &args[1]),
            Builtin::Number => self.number(&args[0]),
            Builtin::Floor | Builtin::Ceil | Builtin::Abs | Builtin::Sqrt => {
                self.numeric(builtin, &args[0])
            }
            Builtin::Round => self.round(&args[0], &args[1]),
            Builtin::Power => self.power(&args[0], &args[1]),
            Builtin::Random => Ok(Val::number(self.host.random())),
            Builtin::Boolean => {
                Ok(equality::truth(&self.meter, &args[0])?.map_or(Val::Undef, Val::bool))
            }
            Builtin::Not => Ok(equality::truth(&self.meter, &args[0])?
                .map_or(Val::Undef, |truth| Val::bool(!truth))),
            Builtin::Map => self.map(&args[0], &args[1], env),
            Builtin::Zip => self.zip(args),
            Builtin::Filter => self.filter_by(&args[0], &args[1], env),
            Builtin::Single => self.single(&args[0], &args[1], env),
            Builtin::Reduce => self.reduce(&args[0], &args[1], &args[2], env),
            Builtin::Sift => self.sift(&args[0], &args[1], env),
            Builtin::Keys => self.keys_of(&args[0]),
            Builtin::Lookup => self.lookup_in(&args[0], &args[1]),
            Builtin::Append => self.append(&args[0], &args[1]),
            Builtin::Exists => Ok(Val::bool(!args[0].is_undef())),
            Builtin::Spread => self.spread_out(&args[0]),
            Builtin::Merge => self.merge(&args[0]),
            Builtin::Reverse => self.reverse(&args[0]),
            Builtin::Each => self.each(&args[0], &args[1], env),
            Builtin::Error => self.error(&args[0]),
            Builtin::Assert => self.assert(&args[0], &args[1]),
            Builtin::Type => self.type_of(&args[0]),
            Builtin::Sort => self.sort(&args[0], &args[1], env),
            Builtin::Shuffle => self.shuffle(&args[0]),
            Builtin::Distinct => self.distinct(&args[0]),
            Builtin::Base64Encode
            | Builtin::Base64Decode
            | Builtin::EncodeUrl
            | Builtin::EncodeUrlComponent
            | Builtin::DecodeUrl
            | Builtin::DecodeUrlComponent => self.encode(builtin, &args[0]),
            Builtin::Eval => self.evaluate_text(&args[0], &args[1], input, env),
            Builtin::ToMillis => self.parse_millis(&args[0], &args[1]),
            Builtin::FromMillis => self.format_millis(&args[0], &args[1], &args[2]),
            Builtin::Clone => Ok(args[0].clone()),
            Builtin::Now => self.now_text(&args[0], &args[1]),
            Builtin::Millis => Ok(Val::Json(self.now().into(), 0)),
        }
    }
}
