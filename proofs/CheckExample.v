(** Not in vain: a certificate that the package wrote, of the paper's balanced mechanism at (log 2, 0.1), is accepted; with one
    part of 2^128 more or less, with a larger ratio, with another claim, or with levels clipped within the table, it is not. *)

From Coq Require Import ZArith String List.
From Duotone Require Import ReadCertificate.
Import ListNotations.
Open Scope string_scope.

Definition example_with (ratio : string) (first second : string * string) (loss : string) (margin : bool) (cap : json) : json :=
  let row (numbers : string * string) error :=
    Object [("numbers", Items [Text (fst numbers); Text (snd numbers)]); ("error", Text error)] in
  let swapped (numbers : string * string) := (snd numbers, fst numbers) in
  let near := ("340282366920938463463374607428189072042", "3579139414") in
  let sure := ("340282366920938463463374607431768211456", "0") in
  let near_error := "1.0518145404905981e-29" in
  Object [("certificate", Text "duotone"); ("version", Integer 1);
          ("privacy", Object [("epsilon", Null); ("ratio", Text ratio); ("delta", Text "1/10")]);
          ("outcomes", Items [Text "yes"; Text "no"]); ("bits", Integer 128);
          ("claims", Object [("private", Truth true); ("optimal", Truth true); ("loss", Text loss); ("margin", Truth margin)]);
          ("boundary", Text "balanced"); ("cap", cap); ("lowest", Integer (-4));
          ("rows", Items [row (swapped sure) "0.0"; row (swapped near) near_error; row (swapped second) "0.1";
                          row (swapped first) "0.3"; row first "0.3"; row second "0.1"; row near near_error; row sure "0.0"])].

Definition example ratio first second loss := example_with ratio first second loss true (Integer 7).

Definition first := ("238197656844656924424362225200806092253", "102084710076281539039012382230962119203").
Definition second := ("306254130228844617117037146685728078779", "34028236692093846346337460746040132677").

Example accepted : check (example "2" first second "2^-60") = Some (Line, 8%Z) /\
  check (example_with "2" first second "2^-60" true Null) = Some (Line, 8%Z) /\
  check (example_with "2" first second "2^-60" true (Integer 4)) = Some (Line, 8%Z).
Proof. vm_compute; repeat split. Qed.

Example refused :
  check (example "2" ("238197656844656924424362225200806092254", "102084710076281539039012382230962119202")
    second "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146685728078780",
    "34028236692093846346337460746040132676") "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146685728078778",
    "34028236692093846346337460746040132678") "2^-60") = None /\
  check (example "2" first ("306254130228844617117037146685728078779",
    "34028236692093846346337460746040132676") "2^-60") = None /\
  check (example "201/100" first second "2^-60") = None /\ check (example "2" first second "2^-61") = None /\
  check (example_with "2" first second "2^-60" false (Integer 7)) = None /\
  check (example_with "2" first second "2^-60" true (Integer 3)) = None /\
  check (example_with "2" first second "2^-60" true (Text "7")) = None.
Proof. vm_compute; repeat split. Qed.

(** Under one Rényi order: one part of 2^128 more or less, a lower price, a claimed margin and clipped levels are refused. *)
Definition by_order (price : string) (second : string * string) (margin : list (string * json)) (cap : json) : json :=
  let row (numbers : string * string) error :=
    Object [("numbers", Items [Text (fst numbers); Text (snd numbers)]); ("error", Text error)] in
  let swapped (numbers : string * string) := (snd numbers, fst numbers) in
  let first := ("291342788136612907672962270677220999621", "48939578784325555790412336754547211835") in
  let sure := ("340282366920938463463374607431768211456", "0") in
  Object [("certificate", Text "duotone"); ("version", Integer 1);
          ("privacy", Object [("order", Integer 2); ("price", Text price); ("delta", Text "1/10")]);
          ("outcomes", Items [Text "yes"; Text "no"]); ("bits", Integer 128);
          ("claims", Object ([("private", Truth true); ("optimal", Truth true); ("loss", Text "2^-60")] ++ margin));
          ("boundary", Text "balanced"); ("cap", cap); ("lowest", Integer (-3));
          ("rows", Items [row (swapped sure) "0.0"; row (swapped second) "0.0005878527134401761";
                          row (swapped first) "0.1438204959814924"; row first "0.1438204959814924";
                          row second "0.0005878527134401761"; row sure "0.0"])].

Definition beyond := ("340082331008208144148070709838353255237", "200035912730319315303897593414956219").

Example accepted_by_order : check (by_order "4" beyond [] Null) = Some (Line, 6%Z).
Proof. vm_compute; reflexivity. Qed.

Example refused_by_order :
  check (by_order "4" ("340082331008208144148070709838353255238", "200035912730319315303897593414956218") [] Null) = None /\
  check (by_order "4" ("340082331008208144148070709838353255236", "200035912730319315303897593414956220") [] Null) = None /\
  check (by_order "399/100" beyond [] Null) = None /\ check (by_order "401/100" beyond [] Null) = None /\
  check (by_order "4" beyond [("margin", Truth true)] Null) = None /\
  check (by_order "4" beyond [] (Integer 7)) = None /\ check (by_order "1/2" beyond [] Null) = None.
Proof. vm_compute; repeat split. Qed.
