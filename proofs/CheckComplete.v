(** What exactly the whole check accepts by (eps, delta): a certificate that can be read, whose ratio is e^epsilon rounded down
    in a far digit, and whose table is right ([line_right], [graph_right]). So nothing else is refused, and [check_sound] says
    what is then proved. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia List Bool.
From Duotone Require Import Step Graph Table LineCheck LineComplete GraphCheck GraphRight GraphComplete Exponential.
From Duotone Require Import ReadCertificate VerifiedCheck.
Import ListNotations.
Open Scope R_scope.

(** Steps with the file's ratio, and with [above], which is not below e^epsilon; the two are near to each other. *)
Definition checked_with (b : budget) (above : Q) (P A : privacy) :=
  ratio P = Q2R (stated_ratio b) /\ ratio A = Q2R above /\ delta P = Q2R (stated_delta b) /\ delta A = Q2R (stated_delta b) /\
  match stated_epsilon b with
  | None => above = stated_ratio b
  | Some epsilon => 0 <= Q2R epsilon <= 8192 /\ exists below, exponential epsilon = Some (below,
    above) /\ ratio P <= Q2R below /\
                    ratio A - ratio P <= (ratio A - 1) / 2 ^ 100
  end.

Lemma Qle_bool_iff_R a b : Qle_bool a b = true <-> Q2R a <= Q2R b.
Proof. split; [apply Qle_bool_R | intros H; apply Qle_bool_iff, Rle_Qle, H]. Qed.

Lemma far_digit : Q2R (1 # 2 ^ 100) = / 2 ^ 100.
Proof. unfold Q2R; cbn [Qnum Qden]; rewrite Rmult_1_l, (pow_IZR 2 100); reflexivity. Qed.

(** The definition is accepted exactly where there are such steps. *)
Lemma definition_iff b y above d : definition (stated_ratio b) (stated_epsilon b) (stated_delta b) = Some (y, above, d) <->
  y = stated_ratio b /\ d = stated_delta b /\ exists P A, checked_with b above P A.
Proof.
  split.
  - intros D. destruct (definition_range _ _ _ _ D) as (Ey & Ed & Y & L); cbn in Ey, Ed. split; [auto|]. split; [auto|].
    assert (Ab : 1 <= Q2R above).
    { destruct (stated_epsilon b); [apply definition_right in D; lra | apply definition_of_ratio in D; subst above; exact Y]. }
    exists {| ratio := Q2R (stated_ratio b); delta := Q2R (stated_delta b); ratio_least := Y; delta_least := proj1 L;
              delta_most := proj2 L |},
           {| ratio := Q2R above; delta := Q2R (stated_delta b); ratio_least := Ab; delta_least := proj1 L;
             delta_most := proj2 L |}.
    unfold checked_with; cbn [ratio delta]. do 4 (split; [reflexivity|]).
    destruct (stated_epsilon b) as [e|]; [|eapply definition_of_ratio, D].
    apply definition_right in D as R. split; [apply R|]. unfold definition in D. destruct (_ && _ && _) in D; [|discriminate].
    destruct (_ && _) in D; [|discriminate]. destruct (exponential e) as [[below up]|]; [|discriminate].
    destruct (_ && _) eqn:F in D; [|discriminate]. injection D as _ <- _. exists below. split; [reflexivity|].
    rewrite andb_true_iff, Qle_bool_iff_R in F. split; [apply F | apply R].
  - intros (-> & -> & P & A & RP & RA & DP & DA & H). of_privacy P. of_privacy A. unfold definition.
    replace (Qle_bool 1 (stated_ratio b)) with true by (symmetry; apply Qle_bool_iff_R; rewrite Q2R_1; lra).
    replace (Qle_bool 0 (stated_delta b)) with true by (symmetry; apply Qle_bool_iff_R; rewrite RMicromega.Q2R_0; lra).
    replace (Qle_bool 1 (stated_delta b)) with false by
      (symmetry; apply not_true_iff_false; rewrite Qle_bool_iff_R, Q2R_1; lra). cbn [andb negb].
    destruct (stated_epsilon b) as [e|]; [|congruence]. destruct H as (E & below & X & B & F).
    replace (Qle_bool 0 e) with true by (symmetry; apply Qle_bool_iff_R; rewrite RMicromega.Q2R_0; lra).
    replace (Qle_bool e 8192) with true by
      (symmetry; apply Qle_bool_iff_R; replace (Q2R 8192) with 8192 by (unfold Q2R; cbn; lra); lra). cbn [andb]. rewrite X.
    replace (Qle_bool (stated_ratio b) below) with true by (symmetry; apply Qle_bool_iff_R; lra). cbn [andb].
    replace (Qle_bool (above - stated_ratio b) ((above - 1) * (1 # 2 ^ 100))) with true; [reflexivity|].
    symmetry; apply Qle_bool_iff_R. rewrite Q2R_mult, !Q2R_minus, Q2R_1, far_digit. lra.
Qed.

Lemma enough_bits bits : (64 <= bits)%Z -> (0 < Z.shiftl 1 bits)%Z /\ (LOSS | Z.shiftl 1 bits)%Z.
Proof.
  intros H. split; [apply shifted; lia|]. rewrite Z.shiftl_1_l. exists (2 ^ (bits - 60))%Z. unfold LOSS.
  rewrite <- Z.pow_add_r by lia. f_equal; lia.
Qed.

(** What is stated has bits enough for a loss of 2^-60. *)
Lemma stated_bits j s : read_stated j = Some s -> (64 <= bits_of s)%Z.
Proof.
  unfold read_stated. intros S.
  repeat match type of S with match ?x with Some _ => _ | None => None end = _ => destruct x eqn:?; [|discriminate S]
                            | (if ?x then _ else None) = _ => destruct x eqn:?; [|discriminate S] end.
  injection S as <-. cbn [bits_of]. match goal with B : ((64 <=? _)%Z && _)%bool = true |- _ => apply andb_prop in B end; lia.
Qed.

(** What a line's table keeps to is a definition smaller by a hair. *)
Definition hair (bits : Z) (P S : privacy) :=
  if Rle_dec (/ IZR (2 ^ (bits / 2))) (delta P)
  then ratio S = ratio P /\ delta S = delta P - / IZR (2 ^ (3 * bits / 4))
  else ratio S = ratio P - (ratio P - 1) / 2 ^ 96 /\ delta S = 0.

Lemma hair_iff bits P S y d : (0 <= bits)%Z -> ratio P = Q2R y -> delta P = Q2R d ->
  (hair bits P S <-> ratio S = Q2R (fst (shrunk bits y d)) /\ delta S = Q2R (snd (shrunk bits y d))).
Proof.
  intros B Y D. unfold hair, shrunk.
  assert (Z0 : (0 < 2 ^ (bits / 2))%Z) by (apply Z.pow_pos_nonneg; [lia | apply Z.div_pos; lia]).
  assert (Z1 : (0 < 2 ^ (3 * bits / 4))%Z) by (apply Z.pow_pos_nonneg; [lia | apply Z.div_pos; lia]).
  assert (E : / IZR (2 ^ (bits / 2)) <= delta P <-> (Zpos (Qden d) <= Qnum d * 2 ^ (bits / 2))%Z).
  { rewrite D. pose proof (Q2R_parts d) as K. apply IZR_lt in Z0. assert (0 < IZR (Zpos (Qden d))) by (apply IZR_lt; lia).
    set (h := IZR (2 ^ (bits / 2))) in *. set (q := IZR (Zpos (Qden d))) in *.
    assert (I : / h * (h * q) = q) by (field; lra). assert (J : 0 < h * q) by nra. split; intros L.
    - apply le_IZR. rewrite mult_IZR. fold h q. rewrite <- K. apply Rmult_le_compat_r with (r := h * q) in L; lra.
    - apply IZR_le in L. rewrite mult_IZR in L. fold h q in L. rewrite <- K in L. apply Rmult_le_reg_r with (h * q); lra. }
  destruct (Rle_dec _ _) as [L | L], (Z.leb_spec (Zpos (Qden d)) (Qnum d * 2 ^ (bits / 2)));
    [| exfalso; apply E in L; lia | exfalso; tauto |]; cbn [fst snd].
  - rewrite Q2R_minus, Y, D. replace (Q2R (1 # Z.to_pos (2 ^ (3 * bits / 4)))) with (/ IZR (2 ^ (3 * bits / 4)));
      [reflexivity|]. rewrite Q2R_make by exact Z1. unfold Rdiv. ring.
  - rewrite Q2R_minus, Q2R_mult, Q2R_minus, Q2R_1, RMicromega.Q2R_0, Y.
    replace (Q2R (1 # 2 ^ 96)) with (/ 2 ^ 96) by (unfold Q2R; cbn [Qnum Qden]; rewrite Rmult_1_l, (pow_IZR 2 96); reflexivity).
    reflexivity.
Qed.

Lemma some_hair bits P : (0 <= bits)%Z -> exists S, hair bits P S.
Proof.
  intros B. of_privacy P. unfold hair. destruct (Rle_dec _ _) as [L | L].
  - assert (K : 0 < / IZR (2 ^ (3 * bits / 4)) <= / IZR (2 ^ (bits / 2))).
    { assert (Z0 : (0 < 2 ^ (bits / 2))%Z) by (apply Z.pow_pos_nonneg; [lia | apply Z.div_pos; lia]).
      assert (Z1 : (2 ^ (bits / 2) <= 2 ^ (3 * bits / 4))%Z).
      { apply Z.pow_le_mono_r; [lia|]. apply Z.div_le_lower_bound; [lia|]. pose proof (Z.mul_div_le bits 2). lia. }
      apply IZR_lt in Z0. apply IZR_le in Z1. split; [apply Rinv_0_lt_compat | apply Rinv_le_contravar]; lra. }
    unshelve eexists {| ratio := ratio P; delta := delta P - / IZR (2 ^ (3 * bits / 4)) |}; cbn [ratio delta]; lra || auto.
  - assert (K : 0 <= (ratio P - 1) / 2 ^ 96 <= ratio P - 1).
    { assert (X : 1 <= 2 ^ 96) by (apply pow_R1_Rle; lra).
      split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra]|].
      apply Rmult_le_reg_r with (2 ^ 96); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. nra. }
    unshelve eexists {| ratio := ratio P - (ratio P - 1) / 2 ^ 96; delta := 0 |}; cbn [ratio delta]; lra || auto.
Qed.

Theorem check_iff j kind count s b : read_stated j = Some s -> of_promise s = ByRatio b ->
  (check j = Some (kind, count) <-> of_kind s = kind /\ exists above P A, checked_with b above P A /\
   let one := Z.shiftl 1 (bits_of s) in
   match kind with
   | Line => exists l S, read_line true (bits_of s) one j = Some l /\ hair (bits_of s) P S /\
             line_right one P S A (line_cap l) (line_boundary l) (line_blue l) (line_red l) (blue_error l) (red_error l) /\
             count = (many (line_blue l) + many (line_red l))%Z
   | Graph => exists c, read_graph (bits_of s) one j = Some c /\ graph_right one P A c /\ count = many (nodes c) /\
              affordable c (size_of one (stated_ratio b) above (stated_delta b)) = true
   end).
Proof.
  intros S Pr. unfold check. rewrite S, Pr. unfold check_by_ratio.
  pose proof (stated_bits _ _ S) as Bits. destruct (enough_bits _ Bits) as [B E]. cbv zeta.
  set (one := Z.shiftl 1 (bits_of s)) in *. split.
  - destruct (definition _ _ _) as [[[y above] d]|] eqn:D; [|discriminate]. apply definition_iff in D as (-> & -> & P & A & W).
    pose proof W as (RP & RA & DP & DA & _). intros H. enough (K : of_kind s = kind /\ _) by
      (destruct K as [K X]; split; [exact K|]; exists above, P, A; split; [exact W | exact X]).
    destruct (of_kind s).
    + destruct (read_line _ _ _ j) as [l|] eqn:L; [|discriminate].
      destruct (check_line _ _ _ _ _ _ _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- <-. split; [reflexivity|].
      destruct (some_hair (bits_of s) P ltac:(lia)) as [small H]. exists l, small. split; [reflexivity|]. split; [exact H|].
      split; [|reflexivity]. apply (hair_iff (bits_of s) _ _ _ _ ltac:(lia) RP DP) in H as [RS DS].
      destruct (shrunk _ _ _) as [small_y small_d]. eapply check_line_iff; eassumption.
    + destruct (read_graph _ _ j) as [c|] eqn:L; [|discriminate]. destruct (check_graph _ _ _ _ _) eqn:C; [|discriminate].
      injection H as <- <-. split; [reflexivity|]. exists c. split; [reflexivity|].
      eapply (check_graph_iff one _ above _ P A) in C; try assumption. tauto.
  - intros (<- & above & P & A & W & H).
    rewrite (proj2 (definition_iff b _ above _) (conj eq_refl (conj eq_refl (ex_intro _ P (ex_intro _ A W))))).
    pose proof W as (RP & RA & DP & DA & _). destruct (of_kind s).
    + destruct H as (l & small & L & H & R & ->). rewrite L.
      apply (hair_iff (bits_of s) _ _ _ _ ltac:(lia) RP DP) in H as [RS DS].
      eapply check_line_iff in R; try eassumption. rewrite <- surjective_pairing in R. cbv zeta. fold one.
      rewrite R. reflexivity.
    + destruct H as (c & L & R & -> & F). rewrite L.
      rewrite (proj2 (check_graph_iff one _ above _ P A c RP DP RA DA B E) (conj F R)). reflexivity.
Qed.
